"""Reading a property of a model, or an attribute that is not in its ``__dict__``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.ext import db

from lazyentity.patches.appengine.db.attributes import LazyAttributes
from lazyentity.patches.upstream import is_upstream

_getattribute = object.__getattribute__
_found = dict.get
_ABSENT = object()


def replace_getattr(
    original: Callable[[Any, str], Any] | None, _is_active: Callable[[], bool]
) -> Callable[[Any, str], Any]:
    """Replace the ``__getattr__`` of ``db.Expando``, or give ``db.Model``, which has none, one."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807  # its name
        attributes = _getattribute(self, "__dict__")
        if type(attributes) is LazyAttributes:
            attributes.load(name)
            # Another thread may have made this attribute, or all of them.
            value = _found(attributes, name, _ABSENT)
            if value is not _ABSENT:
                return value
        if original is not None:
            return original(self, name)
        # Raises the original AttributeError.
        kind: Any = type(self)
        return kind.__getattribute__(self, name)

    return __getattr__


def property_get(
    original: Callable[[Any, Any, Any], Any], _is_active: Callable[[], bool]
) -> Callable[[Any, Any, Any], Any]:
    """Replace ``db.Property.__get__``, which takes the value from an attribute of the model.

    At the first read, Python would make an error and then call ``__getattr__``.
    """
    if not is_upstream(original, db):
        return original

    @functools.wraps(original)
    def __get__(self: Any, model_instance: Any, model_class: Any) -> Any:  # noqa: N807  # its name
        attributes = getattr(model_instance, "__dict__", None)
        if type(attributes) is LazyAttributes:
            attribute = self._attr_name()
            value = _found(attributes, attribute, _ABSENT)
            if value is _ABSENT and attributes.load(attribute):
                value = _found(attributes, attribute, _ABSENT)
            if value is not _ABSENT:
                return value
        return original(self, model_instance, model_class)

    return __get__
