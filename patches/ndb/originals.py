"""Telling functions of ndb itself from those that somebody put in their place."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Collection
from types import FunctionType, MethodType
from typing import Any

from google.cloud.ndb import model

from lazyentity.patches.registry import is_of

# Wrappers, those of wrapt for one, may equal the wrapped function and have all of its attributes:
# types and identity tell them apart.


def is_own(function: Any) -> bool:
    """Say whether a function is one of ndb's own."""
    return is_of(model, function)


def own(kind: Any, name: str) -> Any:
    """Return the function of ndb's own method of a class; if it was replaced, a new object."""
    method = inspect.getattr_static(kind, name)
    function = method.__func__ if type(method) in (classmethod, staticmethod) else method
    return function if is_own(function) else object()


def is_method_of(function: Any, method: Any) -> bool:
    """Say whether a method, bound to something, is that of a function."""
    return type(method) is MethodType and method.__func__ is function


def is_one_of(functions: Collection[Any], function: Any) -> bool:
    """Say whether a function is among some, which may be the keys of a dict."""
    return type(function) is FunctionType and function in functions


class Methods:
    """Some of the methods of ``ndb.Property``.

    Args:
        names: of methods that are called on an instance; two at least.
    """

    def __init__(self, *names: str) -> None:
        self._names = names
        self._own = tuple(own(model.Property, name) for name in names)
        self._of = operator.attrgetter(*names)

    def are_those_of(self, kind: Any) -> bool:
        """Say whether a class of properties has these methods."""
        return kind.__getattribute__ is object.__getattribute__ and all(
            map(operator.is_, self._of(kind), self._own)
        )

    def are_those_of_instance(self, prop: Any) -> bool:
        """Say whether a property has these methods, none of its own."""
        return vars(prop).keys().isdisjoint(self._names) and self.are_those_of(type(prop))
