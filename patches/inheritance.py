"""Whether classes of an application override methods of a client's classes.

The answers are for the mapping of a class, which is made once: what a class overrides later is not
seen. Methods that somebody replaces in the client's classes are the guard's matter.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any


def inherits(holder: Any, names: tuple[str, ...], *bases: type) -> bool:
    """Whether a class, or an instance and its class, have methods of a client's classes.

    Args:
        holder: the class or instance. A ``__getattribute__`` of its own overrides all.
        names: the names of the methods.
        bases: the client's classes. Each method has to be that of one of them.
    """
    kind: Any = holder
    if not isinstance(holder, type):
        kind = type(holder)
        if not vars(holder).keys().isdisjoint(names):
            return False
    return _inherits(kind, names, bases)


@functools.lru_cache(maxsize=4096)
def _inherits(kind: Any, names: tuple[str, ...], bases: tuple[type, ...]) -> bool:
    return all(
        any(_defined(kind, name) is _defined(base, name) for base in bases)
        for name in (*names, "__getattribute__")
    )


def _defined(kind: type, name: str) -> Any:
    return inspect.getattr_static(kind, name, None)
