"""Layouts are shared by entities with the same names, and do not pile up."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore.entity import Entity

from lazyentity.codec.layout import LayoutCache
from lazyentity.entity import LazyEntity
from tests.entity.stock import encoded


class _Names:
    """A layout that only tells how many names it has."""

    def __init__(self, names: list[str]) -> None:
        self.names = self.ordinals = {name: ordinal for ordinal, name in enumerate(names)}


def _cache(max_names: int) -> LayoutCache:
    return LayoutCache(max_names=max_names, layout_type=_Names)


def test_the_first_layout_stays() -> None:
    """Threads that learn the same layout at once end up with one."""
    cache = _cache(10)
    first = cache.add(b"a", ["a"])
    assert cache.add(b"a", ["a"]) is first
    assert cache.get(b"a") is first
    assert len(cache) == 1


def test_ever_new_names_do_not_grow_it() -> None:
    """All layouts together never have more names than the cache was given; the oldest make room."""
    cache = _cache(100)
    for number in range(1000):
        names = [f"{number}-{ordinal}" for ordinal in range(number % 7)]
        cache.add(str(number).encode(), names)
        kept = [cache.get(str(earlier).encode()) for earlier in range(number + 1)]
        assert sum(len(layout.names) for layout in kept if layout is not None) <= 100
        assert kept[-1] is not None
        assert len(cache) <= 100


def test_one_too_large_is_not_kept() -> None:
    """A layout that fills the cache alone pushes nobody out."""
    cache = _cache(10)
    small = cache.add(b"small", ["a"])
    large = cache.add(b"large", [f"p{number}" for number in range(11)])
    assert len(large.names) == 11
    assert cache.get(b"large") is None
    assert cache.get(b"small") is small


@pytest.mark.parametrize("size", [0, 1, 10])
def test_one_that_just_fits_is_kept(size: int) -> None:
    """The bound itself is still within it, and a layout without names counts as one with one."""
    cache = _cache(10)
    layout = cache.add(b"layout", [f"p{number}" for number in range(size)])
    assert cache.get(b"layout") is layout


def _key_table_bytes(mapping: Any) -> int:
    """Return what the storage of a dict takes beside the object itself."""
    return dict.__sizeof__(mapping) - type(mapping).__basicsize__


@pytest.mark.parametrize("size", range(60))
def test_storage_is_no_larger_than_that_of_a_dict(lazy_type: type[LazyEntity], size: int) -> None:
    """And so are the embedded entities' that make up a document."""
    values = {f"name{number}": number for number in range(size)}
    stock = Entity()
    stock.update(values)
    lazy = lazy_type.from_bytes(encoded(stock))
    assert len(lazy) == size
    assert _key_table_bytes(lazy) <= _key_table_bytes(values)
