"""Reading an attribute of a model that is not in its ``__dict__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyentity.patches.appengine.db.attributes import LazyAttributes

_getattribute = object.__getattribute__
_stored = dict.__getitem__


def model_getattr(_original: None, _is_active: Callable[[], bool]) -> Callable[[Any, str], Any]:
    """Give ``db.Model``, which has none, a ``__getattr__``."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807  # its name
        attributes = _getattribute(self, "__dict__")
        if type(attributes) is LazyAttributes and attributes.has(name):
            return _stored(attributes, name)
        # This raises the error that there was.
        kind: Any = type(self)
        return kind.__getattribute__(self, name)

    return __getattr__


def expando_getattr(
    original: Callable[[Any, str], Any], _is_active: Callable[[], bool]
) -> Callable[[Any, str], Any]:
    """Replace ``db.Expando``'s own ``__getattr__``."""

    def __getattr__(self: Any, key: str) -> Any:  # noqa: N807  # its name
        attributes = _getattribute(self, "__dict__")
        if type(attributes) is LazyAttributes and attributes.has(key):
            return _stored(attributes, key)
        return original(self, key)

    return __getattr__
