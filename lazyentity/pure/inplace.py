"""The pure backend's replacements in place; :mod:`lazyentity._inplace` documents them."""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable, Iterable
from types import MethodDescriptorType
from typing import Any, Final

from lazyentity._mode import enter, leave

SLOTS: Final = False


def replacement(holder: Any, name: str) -> _Method | None:
    """As :func:`lazyentity._inplace.replacement`."""
    if not isinstance(holder, type):
        return None
    made = _made.get((holder, name))
    if made is None:
        if type(vars(holder).get(name)) is not MethodDescriptorType:
            return None
        made = _made[holder, name] = _Method(holder, name)
    return made


def another(function: Any, hook: object, when: object) -> None:
    """As :func:`lazyentity._inplace.another`."""


def serve_bound(holder: type, names: Iterable[str]) -> bool:
    """As :func:`lazyentity._inplace.serve_bound`."""
    return False


def shorten(function: object, original: object, skipped: int) -> None:
    """As :func:`lazyentity._inplace.shorten`."""


def lengthen(function: object) -> None:
    """As :func:`lazyentity._inplace.lengthen`."""


def forget_closed() -> None:
    """As :func:`lazyentity._inplace.forget_closed`."""


def settle_check(version: int) -> None:
    """As :func:`lazyentity._inplace.settle_check`."""


class _Method:
    def __init__(self, kind: type, name: str) -> None:
        self._kind = kind
        self._name = name
        self._original = vars(kind)[name]

    def install(self, hook: Callable[..., Any], when: Any, /) -> None:
        original = self._original

        @functools.wraps(original)
        def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return hook(original, self, args, kwargs)

        @functools.wraps(original)
        def noted(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            enter(None)
            try:
                return hook(original, self, args, kwargs)
            finally:
                leave()

        self._set(noted if when.is_noted else method)

    def remove(self) -> None:
        self._set(self._original)

    def _set(self, value: Any) -> None:
        try:
            setattr(self._kind, self._name, value)
        except TypeError:
            # A type of C code has no setattr(), but a dict like any other.
            (namespace,) = gc.get_referents(vars(self._kind))
            namespace[self._name] = value
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(self._kind))


_made: dict[tuple[type, str], _Method] = {}
