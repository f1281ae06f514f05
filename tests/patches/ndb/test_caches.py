"""The global cache: hits give stock ndb's results lazily, and stock ndb reads the cached bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from google.cloud import ndb

import lazyentity
from tests.patches.models.pairs import undecoded
from tests.patches.ndb.caches import (
    cached_bytes,
    counted_calls,
    parsed,
)
from tests.patches.ndb.describing import storages
from tests.patches.ndb.model_snapshots import describe
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


class Failed(Exception):
    """Ends a transaction."""


@pytest.fixture
def read(loopback_sides: Sides, cache: Any) -> Read:
    """Reads through the cache; returns the description of the result, and the calls made."""
    return functools.partial(read_counted, loopback_sides, cache)


def _all_stored() -> Any:
    return ndb.get_multi(stored_keys())


class TestHits:
    """Models in the cache are not asked of the datastore."""

    def test_give_what_stock_gives(self, loopback_sides: Sides, cache: Any, read: Read) -> None:
        """The side that cached them makes no difference, nor does the one that reads them."""
        stock, calls = read_counted(loopback_sides, None, _all_stored)
        assert calls == ["lookup"]
        assert read(_all_stored) == (stock, ["lookup"])
        with loopback_sides.lazily():
            assert read(_all_stored) == (stock, [])
            cache.clear()
            for expected in (["lookup"], [], []):
                assert read(_all_stored) == (stock, expected)
        assert read(_all_stored) == (stock, [])

    def test_are_lazy(self, loopback_sides: Sides, cache: Any) -> None:
        """Outside of eager()."""
        with loopback_sides.lazily():
            for expected in (["lookup"], []):
                with counted_calls() as calls, loopback_sides.context(global_cache=cache):
                    found = ndb.get_multi(
                        [stored_key(), stored_key(Shape, 2), stored_key(Hooked), stored_key(Dotted)]
                    )
                    assert calls == expected
                    assert type(found[1]) is Circle
                    assert {type(one._values).__name__ for one in found} == {"LazyValues"}
                    assert found[0].number == 1
                    assert undecoded(found[0]) == set(found[0]._values) - {"number"}
            cache.clear()
            for expected in (["lookup"], []):
                with counted_calls() as calls, loopback_sides.context(global_cache=cache):
                    with lazyentity.eager():
                        assert storages(_all_stored()) == {"dict"}
                    assert calls == expected

    def test_hooks(self, loopback_sides: Sides, read: Read) -> None:
        def hooked() -> Any:
            Hooked.got.clear()
            found = stored_key(Hooked).get()
            (got,) = Hooked.got
            Hooked.got.clear()
            return [found, got[0], got[1] is found]

        stock, _ = read(hooked)
        with loopback_sides.lazily():
            assert read(hooked) == (stock, [])


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
            raw = cached_bytes(cache, found.key)
            described = describe(found)
            found.number = 1000
            assert cached_bytes(cache, found.key) == raw
            return parsed(raw), described

    stock = cached("dict")
    with sides.lazily():
        assert cached("LazyValues") == stock
        with lazyentity.eager():
            assert cached("dict") == stock


class TestWrites:
    """Writes leave nothing in the cache that is not true any more."""

    def test_put_and_delete(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        sides.store()

        def put(text: str, **options: Any) -> None:
            with sides.own_context(legacy_data=False, **options):
                found = stored_key().get()
                found.text = text
                found.put()

        with sides.lazily():
            put("changed", global_cache=cache)
            for expected in (["lookup"], []):
                with sides.own_context(global_cache=cache), counted_calls() as calls:
                    again = stored_key().get()
                    assert again.text == "changed"
                    assert calls == expected
                    assert storages(again) == {"LazyValues"}
            # A change behind the cache's back is not seen: the cached model is read.
            put("behind its back")
            with sides.own_context(global_cache=cache):
                assert stored_key().get().text == "changed"
                passed_over = stored_key().get(use_global_cache=False, use_cache=False)
                assert passed_over.text == "behind its back"
                stored_key().get().key.delete()
            with sides.own_context(global_cache=cache):
                assert stored_key().get() is None

    @pytest.mark.parametrize("fails", [False, True])
    def test_transaction(self, loopback_sides: Sides, cache: Any, *, fails: bool) -> None:
        """A transaction reads past the cache, and the cache does not hide its writes."""
        sides = loopback_sides
        sides.store()

        def inside() -> Any:
            found = stored_key().get()
            found.text = "in a transaction"
            found.put()
            if fails:
                raise Failed

        with sides.lazily():
            with sides.own_context(global_cache=cache, legacy_data=False):
                before = stored_key().get().text
                with counted_calls() as calls, pytest.raises(Failed) if fails else nullcontext():
                    ndb.transaction(inside)
                assert "lookup" in calls
            with sides.own_context(global_cache=cache):
                assert stored_key().get().text == (before if fails else "in a transaction")
