"""A cache of what is known of property names, bounded by how many names that is."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class NamesCache(Generic[_Key, _Value]):
    """Values by key, bounded: ever new property names must not grow it for ever.

    Args:
        max_names: how many property names the values may be about, all together. One that is about
            none counts like one that is about one. The oldest make room for new ones; one that is
            about more names than this alone is not kept.

    Attributes:
        get: returns the value of a key, or None, as ``dict.get`` does.
    """

    def __init__(self, max_names: int) -> None:
        self._max_names = max_names
        self._names = 0
        self._values: dict[_Key, _Value] = {}
        self._sizes: dict[_Key, int] = {}
        self._lock = threading.Lock()
        self.get = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def add(self, key: _Key, value: _Value, names: int) -> _Value:
        """Keep a value that is about so many names, unless the key has one; returns the key's."""
        with self._lock:
            if key in self._values:
                return self._values[key]
            self._keep(key, value, names)
        return value

    def replace(self, key: _Key, value: _Value, names: int) -> None:
        """Keep a value that is about so many names in place of the one that the key may have."""
        with self._lock:
            if key in self._values:
                self._drop(key)
            self._keep(key, value, names)

    def _keep(self, key: _Key, value: _Value, names: int) -> None:
        size = max(1, names)
        if size > self._max_names:
            return
        while self._names + size > self._max_names:
            self._drop(next(iter(self._values)))
        self._values[key] = value
        self._sizes[key] = size
        self._names += size

    def _drop(self, key: _Key) -> None:
        del self._values[key]
        self._names -= self._sizes.pop(key)
