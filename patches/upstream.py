"""Telling functions of a client itself from those that somebody put in their place."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Collection
from types import FunctionType, MethodType, ModuleType
from typing import Any

from lazyentity.patches.registry import is_of

# Wrappers, those of wrapt for one, may equal the wrapped function and have all of its attributes:
# types and identity tell them apart.


class UpstreamModules:
    """The functions that a client's modules define.

    Args:
        modules: of the client.
    """

    def __init__(self, *modules: ModuleType) -> None:
        self._modules = modules

    def is_upstream(self, function: Any) -> bool:
        """Say whether a function is one of the client's own."""
        return any(is_of(module, function) for module in self._modules)

    def upstream_function(self, kind: Any, name: str) -> Any:
        """Return the client's own function of a method of a class; if replaced, a new object."""
        function = function_of(kind, name)
        return function if self.is_upstream(function) else object()

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

    def are_those_of(self, kind: Any) -> bool:
        """Say whether a class, a subclass for one, has these methods."""
        return kind.__getattribute__ is object.__getattribute__ and all(
            map(operator.is_, self._of(kind), self._own)
        )

    def are_those_of_instance(self, instance: Any) -> bool:
        """Say whether an instance has these methods, none of its own."""
        return vars(instance).keys().isdisjoint(self._names) and self.are_those_of(type(instance))


def function_of(kind: Any, name: str) -> Any:
    """Return the function of a method, which may be a class method or a static one."""
    method = inspect.getattr_static(kind, name)
    return method.__func__ if type(method) in (classmethod, staticmethod) else method


def is_method_of(function: Any, method: Any) -> bool:
    """Say whether a bound method is a method of this function."""
    return type(method) is MethodType and method.__func__ is function


def is_one_of(functions: Collection[Any], function: Any) -> bool:
    """Say whether a function is among some, which may be the keys of a dict."""
    return type(function) is FunctionType and function in functions
