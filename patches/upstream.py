"""Attributes of a client: where they are, and the functions that they have."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import MethodType
from typing import Any

from lazyentity.patches.wrapping import wrapt

# By the exact types of methods and properties: where each has its function.
_FUNCTION = {
    MethodType: "__func__",
    classmethod: "__func__",
    staticmethod: "__func__",
    property: "fget",
}


def function_of(found: Any) -> Any:
    """Return the function of a method or property; anything else as it is."""
    name = _FUNCTION.get(type(found))
    return found if name is None else getattr(found, name)


def bound(method: Any, holder: Any) -> Any:
    """Return a method of a class, bound to an instance; a mock, which cannot be bound, as it is."""
    bind = getattr(method, "__get__", None)
    return method if bind is None else bind(holder, type(holder))


class AttributePath:
    """One attribute of a client.

    Args:
        module: name of the module that holds the attribute.
        path: dotted path of the attribute within the module.

    Attributes:
        replacement: our own, put in its place, and not taken away since; None without one.
    """

    def __init__(self, module: str, path: str) -> None:
        self.module = module
        self.path = path
        self.replacement: Any = None

    def __str__(self) -> str:
        return f"{self.module}.{self.path}"

    def current(self) -> Any:
        """Return the value of the attribute now.

        Raises:
            AttributeError, ImportError: if there is no such attribute.
        """
        return wrapt().resolve_path(self.module, self.path)[2]

    def namespace(self) -> tuple[Mapping[str, Any], str]:
        """Return the namespace that holds the attribute if it is not inherited, and its name.

        Raises:
            AttributeError, KeyError: if there is no such module or class.
        """
        holder: Any = sys.modules[self.module]
        *outer, name = self.path.split(".")
        for each in outer:
            holder = getattr(holder, each)
        return vars(holder), name


def paths_of(names: Mapping[str, Iterable[str]]) -> list[AttributePath]:
    """Return the attributes at dotted paths, given by module."""
    return [AttributePath(module, path) for module, paths in names.items() for path in paths]
