"""Telling functions of a client itself from those that somebody put in their place."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

from lazyentity.patches.wrapping import wrapt

_Entry = TypeVar("_Entry")

# By the exact types of methods and properties: where each has its function.
_FUNCTION = {
    MethodType: "__func__",
    classmethod: "__func__",
    staticmethod: "__func__",
    property: "fget",
}


def is_upstream(found: Any, *own: Any) -> bool:
    """Say whether a function is still the client's own.

    A wrapper of it is not. Wrappers, such as wrapt's, may equal the wrapped function and have all
    of its attributes: types, code and identity tell them apart.

    Args:
        found: the function, or a method or property that has it.
        own: the modules of the client that may define it, or the functions that it may be.
    """
    function = function_of(found)
    if function is None:
        return False
    for each in own:
        if type(each) is not ModuleType:
            if function is each:
                return True
        elif type(function) is FunctionType and function.__code__.co_filename == each.__file__:
            return True
    return False


def entry_of(found: Any, entries: Mapping[Any, _Entry]) -> _Entry | None:
    """Return the entry of a function of the client; None for anything else.

    A wrapper may have the hash of the function, and equal it.
    """
    return next((entry for function, entry in entries.items() if function is found), None)


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


class UpstreamModules:
    """The functions that a client's modules define.

    Args:
        modules: of the client.
    """

    def __init__(self, *modules: ModuleType) -> None:
        self._modules = modules

    def upstream_function(self, kind: Any, name: str) -> Any:
        """Return the client's own function of a method of a class; if replaced, a new object.

        A method inherited from ``object`` is the client's own.
        """
        found = inspect.getattr_static(kind, name)
        if found is vars(object).get(name):
            return found
        return function_of(found) if is_upstream(found, *self._modules) else object()

    def upstream_functions(self, name: str, *kinds: Any) -> frozenset[Any]:
        """Return the client's own functions of the methods of some classes that have this name."""
        return frozenset(self.upstream_function(kind, name) for kind in kinds)

    def methods(self, kind: Any, *names: str) -> Methods:
        """Return the client's own methods of a class.

        Args:
            kind: the class.
            names: of methods that are called on an instance; two at least.
        """
        return Methods(names, tuple(self.upstream_function(kind, name) for name in names))


class Methods:
    """Some of the methods of a class.

    Args:
        names: the names of the methods.
        own: the client's own functions.
    """

    def __init__(self, names: tuple[str, ...], own: tuple[Any, ...]) -> None:
        self._names = names
        self._own = own
        self._of = operator.attrgetter(*names)

    def are_upstream(self, holder: Any) -> bool:
        """Say whether a class, or an instance and its class, have these methods and no others."""
        kind = holder
        if not isinstance(holder, type):
            kind = type(holder)
            if not vars(holder).keys().isdisjoint(self._names):
                return False
        return kind.__getattribute__ is object.__getattribute__ and all(
            map(operator.is_, self._of(kind), self._own)
        )
