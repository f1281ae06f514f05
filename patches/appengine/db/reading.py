"""Reading an attribute of a model that is not in its ``__dict__``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyentity.patches.appengine.db.attributes import LazyAttributes

_getattribute = object.__getattribute__
_found = dict.get
_ABSENT = object()


def model_getattr(_original: None, _is_active: Callable[[], bool]) -> Callable[[Any, str], Any]:
    """Give ``db.Model``, which has none, a ``__getattr__``."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807  # its name
        attributes = _getattribute(self, "__dict__")
        if type(attributes) is LazyAttributes:
            attributes.load(name)
            # Another thread may have made it, and all others.
            value = _found(attributes, name, _ABSENT)
            if value is not _ABSENT:
                return value
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
        if type(attributes) is LazyAttributes:
            attributes.load(key)
            value = _found(attributes, key, _ABSENT)
            if value is not _ABSENT:
                return value
        return original(self, key)

    return __getattr__
