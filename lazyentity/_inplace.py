"""Replacing what a function, a method or a class of C code does, while its object stays the same.

So those who hold the object have the replacement as well: modules that imported it by name, and
instances of the class that were made before. Its type, name and signature stay the same.

The native implementation replaces C functions, and pointers in types. The pure one replaces methods
of types, which are functions of Python's then; functions of modules remain to be replaced as
attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from lazyentity._choice import without_client

Hook = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""Takes the original, the instance, the arguments and the keyword arguments.

The original of a method, and that of a constructor, takes the instance as its first argument.
"""


class When(NamedTuple):
    """When a hook is called. By default, unless the arguments are settled: see _alive.py.

    Attributes:
        always: for each call.
        is_deep: unless the arguments are bare.
        is_flat: the library looks into objects of Python alone. So a dict in which the garbage
            collector found no object that refers to others counts as a scalar.
        found: if given, only after a call failed while a property was undecoded. Takes the
            instance, the arguments and the keyword arguments, and says whether to call again. The
            hook itself is called with functions for ``hooks`` alone.
        hooks: parameters that take functions of the application, with their positions, at most
            one: if one is given, the hook is called.
        wrapped: the class of the object to hand on in place of such a function, if nothing else
            needs the hook. Its slot ``_function`` has the function. The hook of a module's function
            does not get such a call.
        attribute: of the instance: holds such a function or None.
        options: the class of an argument, and a function that takes one and says whether it holds
            such functions.
        only: if given, the position of the one argument that counts. It counts as with ``is_deep``.
        closed: by the id of an instance, whether its methods need no look into that argument. The
            hook is called for other instances.
        flags: if given, ``closed`` holds while no property is undecoded, and unless one of these
            keyword arguments is True.
        refused: called with the error of such a call, while a property is undecoded.
        is_noted: whether a note is there during each call: see _mode.py.
        is_check: the method is ``__instancecheck__``. The hook is called for subclasses of dict,
            and for other objects while a property is undecoded: see :func:`settle_check`.
    """

    always: bool = False
    is_deep: bool = False
    is_flat: bool = False
    found: Callable[[Any, tuple[Any, ...], dict[str, Any]], bool] | None = None
    hooks: Mapping[str, int | None] = MappingProxyType({})
    wrapped: type | None = None
    attribute: str | None = None
    options: tuple[type, Callable[[Any], bool]] | None = None
    only: int | None = None
    closed: Mapping[int, bool] | None = None
    flags: tuple[str, ...] | None = None
    refused: Callable[[Exception], None] | None = None
    is_noted: bool = False
    is_check: bool = False


class Replacement(Protocol):
    """The replacement of a function or method, not installed yet."""

    # From now on, the hook is called: at the least when the condition says so.
    def install(self, hook: Hook, when: When, /) -> None: ...
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


another: Callable[[Any, Hook, When], Any] = _chosen.another
"""Return another method like one of C code, which has a hook; the same one each time.

None, if the method is called in another way than the adapted libraries' methods, and with the pure
backend. Raises TypeError, if it is no function or method of C code.
"""

serve_bound: Callable[[type, Iterable[str]], bool] = _chosen.serve_bound
"""Have the methods of a class that were bound before do what the class does now.

Takes the class and the names of methods with a replacement that is installed. Returns whether that
was possible; the pure backend cannot.
"""

shorten: Callable[[FunctionType, FunctionType, int], None] = _chosen.shorten
"""Have C code that calls a replaced function of Python's with settled arguments call the original.

Takes the function, the original, and how many of the first arguments do not count. That ends when
the function gets other code or defaults. So such a call takes no frame more than before; the pure
backend does nothing.
"""

lengthen: Callable[[FunctionType], None] = _chosen.lengthen
"""Undo :data:`shorten`, if that was done."""

forget_closed: Callable[[], None] = _chosen.forget_closed
"""Called after an entry of a :attr:`When.closed` was removed: the native backend keeps answers."""

settle_check: Callable[[int], None] = _chosen.settle_check
"""Have the check of a class, while it has this version, call its hook for subclasses of dict alone.

Takes the version that the class had before it was looked into; nothing is done for 0, and by the
pure backend.
"""
