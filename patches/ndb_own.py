"""What is ndb's own, and what somebody put in its place."""

from __future__ import annotations

import inspect
import operator
from typing import Any

from google.cloud.ndb import model


def is_own(function: Any) -> bool:
    """Say whether a function is one of ndb's own."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == model.__file__


def own(kind: Any, name: str) -> Any:
    """Return ndb's own method of a class; something else, if somebody has replaced it already."""
    method = inspect.getattr_static(kind, name)
    return method if is_own(getattr(method, "__func__", method)) else object()


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
        return kind.__getattribute__ is object.__getattribute__ and self._of(kind) == self._own

    def are_those_of_instance(self, prop: Any) -> bool:
        """Say whether a property has these methods, none of its own."""
        return vars(prop).keys().isdisjoint(self._names) and self.are_those_of(type(prop))
