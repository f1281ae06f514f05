"""The global cache: hits give stock ndb's results lazily, and stock ndb reads the cached bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb

import lazyentity
from tests.patches.models.pairs import undecoded
from tests.patches.ndb.caches import (
    cached_entity,
    counted_calls,
)
from tests.patches.ndb.model_snapshots import snapshot, storages
from tests.patches.ndb.sides import Sides, read_counted
from tests.patches.ndb.stored import (
    Circle,
    Constructed,
    Dotted,
    Hooked,
    Item,
    Loose,
    Shape,
    stored_key,
    stored_keys,
)

# ndb calls redis as it always did.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning")

Read = Callable[..., tuple[Any, list[str]]]


@pytest.fixture
def read(loopback_sides: Sides, cache: Any) -> Read:
    """Reads through the cache; returns the description of the result, and the calls made."""
    return functools.partial(read_counted, loopback_sides, cache)


def _all_stored() -> Any:
    return ndb.get_multi(stored_keys())


def test_hits_give_what_stock_gives(loopback_sides: Sides, cache: Any, read: Read) -> None:
    """The side that cached them makes no difference, nor does the one that reads them."""
    stock, calls = read_counted(loopback_sides, None, _all_stored)
    assert calls == ["lookup"]
    assert read(_all_stored) == (stock, ["lookup"])
    for eager in (False, True):
        with loopback_sides.lazily(eager=eager):
            assert read(_all_stored) == (stock, [])
            cache.clear()
            for expected in (["lookup"], []):
                assert read(_all_stored) == (stock, expected)
        assert read(_all_stored) == (stock, [])


def test_hits_are_lazy(loopback_sides: Sides, cache: Any) -> None:
    """Outside of eager()."""
    pairs = [(Item, 1), (Shape, 2), (Hooked, 1), (Dotted, 1)]
    with loopback_sides.lazily():
        for expected in (["lookup"], []):
            with counted_calls() as calls, loopback_sides.context(global_cache=cache):
                found = ndb.get_multi([ndb.Key(*pair) for pair in pairs])
                assert calls == expected
                assert type(found[1]) is Circle
                assert storages(found) == {"LazyValues"}
                assert found[0].number == 1
                assert undecoded(found[0]) == set(found[0]._values) - {"number"}
        with loopback_sides.context(global_cache=cache), lazyentity.eager():
            assert storages(_all_stored()) == {"dict"}


def _put_alone() -> Any:
    """Put a model in the cache alone."""
    key = Hooked(id=1, number=5, name="in the cache alone").put(use_datastore=False)
    return key.get(use_datastore=False, use_cache=False)


def _put_changed() -> Any:
    found = stored_key().get()
    found.text = "changed"
    found.tags.append("one more")
    found.put(use_datastore=False)
    return found


@pytest.mark.parametrize(
    "fill",
    [
        *(lambda kind=kind: stored_key(kind).get() for kind in (Item, Dotted, Loose, Shape)),
        *(lambda kind=kind: stored_key(kind).get() for kind in (Hooked, Constructed)),
        *(_put_alone, _put_changed),
    ],
)
def test_cached_bytes(loopback_sides: Sides, cache: Any, fill: Callable[[], Any]) -> None:
    """The cache holds the bytes that stock ndb puts there; reading a model changes nothing."""
    sides = loopback_sides

    def cached(storage: str) -> Any:
        cache.clear()
        with sides.context(global_cache=cache, legacy_data=False):
            found = fill()
            assert storages(found) == {storage}
            message = cached_entity(cache, found.key)
            described = snapshot(found)
            found.number = 1000
            assert cached_entity(cache, found.key) == message
            return message, described

    stock = cached("dict")
    with sides.lazily():
        assert cached("LazyValues") == stock
        with lazyentity.eager():
            assert cached("dict") == stock
