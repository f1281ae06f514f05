"""The bounds of what is kept: the names of properties."""

from __future__ import annotations

import gc
import itertools
import random
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity.codec.cache import MAX_BYTES, BoundedCache
from tests.backends.malformed import entity_of
from tests.support.strategies import wire
from tests.support.strategies.schema import VALUE

ROOM = 100_000
SIZE = 1000

Key = str


def cache_of(max_bytes: int = ROOM) -> BoundedCache[Key, Key]:
    return BoundedCache(max_bytes)


def fill(cache: BoundedCache[Key, Key], keys: Iterable[Key], size: int = SIZE) -> None:
    for key in keys:
        cache.keep(key, key, size)


def new_keys(count: int) -> list[Key]:
    return [f"key {next(_numbers)}" for _ in range(count)]


_numbers = itertools.count()


def test_ever_new_values_do_not_grow_it() -> None:
    """Values of any sizes together stay within the bound, and the latest is there."""
    cache = cache_of()
    sizes: dict[Key, int] = {}
    for key in new_keys(5000):
        sizes[key] = random.choice([1, 100, SIZE, ROOM // 3])
        cache.keep(key, key, sizes[key])
        assert cache.get(key) == key
        if len(sizes) % 100 == 0:
            assert sum(size for key, size in sizes.items() if cache.get(key)) <= ROOM


# The caches themselves.


def with_names(names: Iterable[str]) -> bytes:
    return b"".join(entity_of(name, wire.integer(VALUE.integer_value, 1)) for name in names)


def new_names(count: int, size: int) -> list[str]:
    return [f"{next(_numbers):0{size}d}" for _ in range(count)]


def retained_by(read: Callable[[], object]) -> int:
    """Return the bytes more that Python's allocator has given out after ``read``."""
    gc.collect()
    tracemalloc.start()
    try:
        read()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize(("names", "size"), [(1, 20), (20, 20), (5, 1500)])
def test_ever_new_names(lazy_type: type[LazyEntity], names: int, size: int) -> None:
    """The bound is in bytes, of long names as of short ones; names that come once take nothing."""
    raws = [
        with_names(new_names(names, size))
        for _ in range(3 * MAX_BYTES // (800 + names * (size + 100)))
    ]

    def read(times: int) -> None:
        for raw in raws:
            for _ in range(times):
                _ = lazy_type.from_bytes(raw)._shape

    # The names of the first shapes are interned. CPython's table of such strings, which doubles at
    # times, is none of the cache.
    for count in (*[20] * 250, *[1] * 20):
        raw = with_names(new_names(count, size))
        for _ in range(2):
            _ = lazy_type.from_bytes(raw)._shape

    assert retained_by(lambda: read(1)) < MAX_BYTES / 5
    assert MAX_BYTES / 3 < retained_by(lambda: read(2)) < 1.25 * MAX_BYTES


def test_names_that_come_once_push_nobody_out(lazy_type: type[LazyEntity]) -> None:
    """Entities of a shape in use share it, however many others were read meanwhile."""
    used = [with_names(new_names(5, 10)) for _ in range(50)]

    def shapes() -> list[Any]:
        return [lazy_type.from_bytes(raw)._shape for raw in used]

    shapes()
    learned = shapes()
    for _ in range(30_000):
        lazy_type.from_bytes(with_names(new_names(1, 10)))
    assert all(map(lambda one, other: one is other, shapes(), learned))
