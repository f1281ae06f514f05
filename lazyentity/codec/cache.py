"""A cache of values learned about property names, bounded in bytes.

It lies on the path of every read, so nothing here waits: another thread, a signal handler, a
finalizer or a fork may come between any two steps. Each step is one operation of a dict or one
assignment. At worst, a value that was just learned is not kept and is learned again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Any, Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

MAX_BYTES = 4 * 1024 * 1024
"""The bytes that one cache of learned names may take."""

# The tuple, the number and the slot of the dict that keep a value.
_ENTRY_BYTES = 256

# At least so many keys that came once are remembered, and at most twice as many. Their hashes take
# less than a megabyte.
_SIGHTINGS = 4096


class _Generation(Generic[_Key, _Value]):
    __slots__ = ("room", "values")

    def __init__(self, room: int) -> None:
        self.room = room
        self.values: dict[_Key, tuple[_Value, int]] = {}


class BoundedCache(Generic[_Key, _Value]):
    """Values by key, with a bound on their bytes.

    There are two generations, each with half of the room. A value goes into the young one. When the
    young one is full, it replaces the old one, which is dropped as a whole: eviction takes constant
    time. A value that is found in the old generation moves to the young one, so values in use stay.
    Values of keys that come only once should not be kept at all: see :meth:`comes_again`.

    Args:
        max_bytes: the bound. A value that takes more than half of it is not kept.
        on_drop: called after a generation was dropped.
    """

    def __init__(self, max_bytes: int, on_drop: Callable[[], object] | None = None) -> None:
        self._room = max_bytes // 2
        self._on_drop = on_drop
        self._young: _Generation[_Key, _Value] = _Generation(self._room)
        self._old: _Generation[_Key, _Value] = _Generation(0)
        self._sighted: set[int] = set()
        self._sighted_before: set[int] = set()

    def __len__(self) -> int:
        return len({*self._young.values, *self._old.values})

    def get(self, key: _Key) -> _Value | None:
        """Return the value of a key, or None."""
        kept = self._young.values.get(key)
        if kept is not None:
            return kept[0]
        kept = self._old.values.get(key)
        if kept is None:
            return None
        self._keep(key, kept)
        return kept[0]

    def comes_again(self, key: _Key) -> bool:
        """Say whether this was called with an equal key before, not many other keys ago.

        A key that comes once is not worth keeping, and must not push out keys in use.
        """
        sighting = hash(key)
        if sighting in self._sighted or sighting in self._sighted_before:
            return True
        if len(self._sighted) >= _SIGHTINGS:
            self._sighted_before = self._sighted
            self._sighted = set()
        self._sighted.add(sighting)
        return False

    def keep(self, key: _Key, value: _Value, size: int) -> None:
        """Keep a value of so many bytes, in place of the one that the key may have.

        Args:
            key: the key.
            value: any value but None.
            size: the bytes that both take.
        """
        self._keep(key, (value, size + _ENTRY_BYTES))

    def _keep(self, key: _Key, kept: tuple[_Value, int]) -> None:
        size = kept[1]
        if size > self._room:
            return
        young = self._young
        if size > young.room:
            self._old = young
            self._young = young = _Generation(self._room)
            if self._on_drop is not None:
                self._on_drop()
        # If two threads count at once, one of the counts may be lost, until this generation goes.
        young.room -= size
        young.values[key] = kept


def learned_bytes(signature: Hashable, template: dict[str, Any]) -> int:
    """Return about how many bytes a shape takes, together with the key of its cache entry.

    Args:
        signature: the key of the cache entry.
        template: the names of the properties, mapped to anything.
    """
    # Names are in two dicts and a tuple. An ordinal takes 32 bytes, and there is a header or the
    # name of a oneof case for each name.
    names = sum(map(getsizeof, template)) + 64 * len(template)
    return getsizeof(signature) + 2 * getsizeof(template) + names
