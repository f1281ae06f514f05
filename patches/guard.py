"""The one guard of a client: the names that its fast paths go past."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from lazyentity.patches.upstream import AttributePath, function_of


class Guard:
    """The names of a client that its fast paths go past.

    A fast path asks :meth:`is_intact` once for each call that sends an RPC or that converts a
    message. If a name has somebody else's value, that call takes the client's own code from the
    first step to the last. Whether the value was replaced before ``patch()`` or after it makes no
    difference.

    The client's own values are a function that a module of its package defines, a class of its
    package, and the replacement that ``patch()`` put there.

    Args:
        names: the attributes: functions, classes, and methods or properties of classes. A
            :class:`~lazyentity.patches.registry.Seam` is one whose replacement is known.
    """

    def __init__(self, names: Iterable[AttributePath]) -> None:
        self.names = tuple(names)
        self._known: tuple[tuple[Any, str, Any], ...] = ()

    def is_intact(self) -> bool:
        """Whether every name has the client's own value. Compares by identity; runs no code."""
        for namespace, name, value in self._known:
            if namespace.get(name) is not value:
                break
        else:
            if self._known:
                return True
        return not self.foreign()

    def foreign(self) -> list[AttributePath]:
        """Return the names that somebody else replaced, and remember the values of the others."""
        foreign: list[AttributePath] = []
        known = []
        for path in self.names:
            holder, name = _holder(path)
            namespace = vars(holder)
            value = namespace.get(name)
            # Without a value the class inherits the attribute, whose holder has its own entry.
            if value is None or _is_own(path, value):
                known.append((namespace, name, value))
            else:
                foreign.append(path)
        self._known = () if foreign else tuple(known)
        return foreign


def _holder(path: AttributePath) -> tuple[Any, str]:
    """Return the module or class that holds an attribute, and the attribute's name."""
    holder: Any = sys.modules[path.module]
    *outer, name = path.path.split(".")
    for each in outer:
        holder = getattr(holder, each)
    return holder, name


def _is_own(path: AttributePath, value: Any) -> bool:
    """Whether a value is one of the client's package, or the replacement of a seam."""
    if path.replacement is not None and function_of(value) is function_of(path.replacement):
        return True
    function = function_of(value)
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if type(module) is not ModuleType or not _is_of_package(module.__name__, path.module):
        return False
    if type(function) is FunctionType:
        # functools.wraps gives a wrapper the name of the module, and not the file.
        return function.__code__.co_filename == module.__file__
    return type(function) is type and vars(module).get(function.__name__) is function


def _is_of_package(module: str, other: str) -> bool:
    """Whether two modules are of one package, as ``google.cloud.datastore`` and below it are."""
    package = other.rpartition(".")[0]
    return module == package or module.startswith(f"{package}.")
