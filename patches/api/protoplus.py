"""proto-plus messages around upb messages, made without proto-plus's own setters."""

from __future__ import annotations

from typing import Any

_new = object.__new__
_set = object.__setattr__


def wrapped(kind: Any, message: Any) -> Any:
    """Return what ``kind.wrap(message)`` returns.

    Args:
        kind: a subclass of ``proto.Message``.
        message: an upb message of the class ``kind.pb()``.
    """
    wrapper = _new(kind)
    _set(wrapper, "_pb", message)
    return wrapper
