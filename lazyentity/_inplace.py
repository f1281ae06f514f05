"""Replacing what a function, a method or a class of C code does, while its object stays the same.

So those who hold the object have the replacement as well: modules that imported it by name, and
instances of the class that were made before. Its type, name and signature stay the same.

The native implementation replaces C functions, and pointers in types. The pure one replaces methods
of types, which are functions of Python's then; functions of modules remain to be replaced as
attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from lazyentity._choice import without_client

Hook = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""Takes the original, the instance, the arguments and the keyword arguments.

The original of a method, and that of a constructor, takes the instance as its first argument.
"""


class Replacement(Protocol):
    """The replacement of a function or method, not installed yet."""

    # From now on, the hook is called: always, or unless the arguments are settled, see _alive.py.
    def install(self, hook: Hook, always: bool, /) -> None: ...
    def remove(self) -> None: ...  # the original is called again


_chosen: Any = without_client("inplace")

SLOTS: Final[bool] = _chosen.SLOTS
"""Whether the native implementation serves.

It alone replaces ``__new__``, ``__init__`` and ``__call__`` of a class of C code.
"""


def replacement(holder: Any, name: str) -> Replacement | None:
    """Return the replacement of a function or method of C code; the same one each time.

    Args:
        holder: the class or module that has it.
        name: of the function or method.

    Returns:
        None, if it cannot be replaced in place.

    Raises:
        AttributeError: if there are too many replacements.
    """
    found: Replacement | None = _chosen.replacement(holder, name)
    return found
