"""The global cache: hits give stock ndb's results lazily, and stock ndb reads the cached bytes."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import Any

import pytest
from google.cloud import ndb

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from tests.patches.ndb.caches import (
    cached_bytes,
    counted_calls,
    parsed,
)
from tests.patches.ndb.describing import FIRST_VIEWS, attempt, describe, storages
from tests.patches.ndb.sides import Sides, read_counted
from tests.patches.ndb.stored import (
    COUNT,
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

KINDS = (Item, Dotted, Loose, Shape, Hooked, Constructed)


class TestHits:
    """Models in the cache are not asked of the datastore."""

    def test_give_what_stock_gives(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        stock, calls = read_counted(sides, None, lambda: ndb.get_multi(stored_keys()))
        assert calls == ["lookup"]
        with sides.lazily():
            for expected in (["lookup"], [], []):
                assert read_counted(sides, cache, lambda: ndb.get_multi(stored_keys())) == (
                    stock,
                    expected,
                )
        assert read_counted(sides, cache, lambda: ndb.get_multi(stored_keys())) == (stock, [])

    def test_of_what_stock_cached(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        stock, _ = read_counted(sides, cache, lambda: ndb.get_multi(stored_keys()))
        with sides.lazily():
            assert read_counted(sides, cache, lambda: ndb.get_multi(stored_keys())) == (stock, [])

    def test_are_not_what_is_stored(self, loopback_sides: Sides, cache: Any) -> None:
        """A change behind the cache's back is not seen: the cached model is read."""
        sides = loopback_sides
        sides.store()
        with sides.own_context(legacy_data=False):
            changed = stored_key().get()
        with sides.lazily():
            with sides.own_context(global_cache=cache):
                before = describe(stored_key().get())
            with sides.own_context(legacy_data=False):
                changed.text = "behind its back"
                changed.put()
            with sides.own_context(global_cache=cache):
                assert describe(stored_key().get()) == before
                passed_over = stored_key().get(use_global_cache=False, use_cache=False)
                assert passed_over.text == "behind its back"

    def test_are_lazy(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        with sides.lazily():
            for expected in (["lookup"], []):
                with counted_calls() as calls, sides.context(global_cache=cache):
                    found = ndb.get_multi(
                        [stored_key(), stored_key(Shape, 2), stored_key(Hooked), stored_key(Dotted)]
                    )
                    assert calls == expected
                    assert type(found[1]) is Circle
                    assert {type(one._values).__name__ for one in found} == {"LazyValues"}
                    item = found[0]
                    names = set(item._values)
                    assert item.number == 1
                    undecoded = {n for n in names if dict.get(item._values, n) is UNDECODED}
                    assert undecoded == names - {"number"}

    def test_inside_eager_are_stock(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        with sides.lazily():
            for expected in (["lookup"], []):
                with (
                    counted_calls() as calls,
                    sides.context(global_cache=cache),
                    lazyentity.eager(),
                ):
                    assert storages(ndb.get_multi(stored_keys())) == {"dict"}
                    assert calls == expected

    @pytest.mark.parametrize("kind", KINDS)
    def test_whatever_is_done_first(self, loopback_sides: Sides, cache: Any, kind: Any) -> None:
        """Nothing has to be read of a model before something else works."""
        sides = loopback_sides

        def seen() -> Any:
            descriptions = []
            for see in FIRST_VIEWS.values():
                with counted_calls() as calls, sides.context(global_cache=cache):
                    found = stored_key(kind).get()
                    first = attempt(functools.partial(see, found))
                    descriptions.append([first, describe(found), calls])
            return descriptions

        read_counted(sides, cache, lambda: stored_key(kind).get())
        stock = seen()
        with sides.lazily():
            assert seen() == stock

    def test_of_some(self, loopback_sides: Sides, cache: Any) -> None:
        """Hits, misses and missing entities in one read."""
        sides = loopback_sides
        keys = [("Item", number) for number in (1, COUNT + 1, 2, 3)]
        with sides.context():
            stock = describe(ndb.get_multi([ndb.Key(*pair) for pair in keys]))
        with sides.lazily():
            read_counted(sides, cache, lambda: stored_key(Item, 2).get())
            for _ in range(2):
                read, calls = read_counted(
                    sides, cache, lambda: ndb.get_multi([ndb.Key(*pair) for pair in keys])
                )
                assert read == stock
                # Missing models are requested again.
                assert calls == ["lookup"]

    def test_hooks(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides

        def hooked() -> Any:
            Hooked.got.clear()
            found = stored_key(Hooked).get()
            (got,) = Hooked.got
            Hooked.got.clear()
            return [found, got[0], got[1] is found]

        stock, _ = read_counted(sides, cache, hooked)
        with sides.lazily():
            assert read_counted(sides, cache, hooked) == (stock, [])

    def test_the_context_comes_first(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache):
            found = stored_key().get()
            assert stored_key().get() is found
            assert stored_key().get(use_cache=False) is not found


class TestCachedBytes:
    """The cache holds the bytes that stock ndb puts there."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_after_a_read(self, loopback_sides: Sides, cache: Any, kind: Any) -> None:
        sides = loopback_sides

        def cached() -> Any:
            cache.clear()
            with sides.context(global_cache=cache):
                found = stored_key(kind).get()
                raw = cached_bytes(cache, found.key)
            return parsed(raw)

        stock = cached()
        with sides.lazily():
            assert cached() == stock
            with lazyentity.eager():
                assert cached() == stock

    def test_reading_a_model_changes_nothing(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache):
            found = stored_key().get()
            before = cached_bytes(cache, found.key)
            describe(found)
            found.text = "changed, not put"
            found.tags.append("changed, not put")
            assert cached_bytes(cache, found.key) == before

    def test_of_use_datastore_false(self, loopback_sides: Sides, cache: Any) -> None:
        """A model can be in the cache alone."""
        sides = loopback_sides

        def cached() -> Any:
            cache.clear()
            with sides.own_context(global_cache=cache, legacy_data=False):
                found = Hooked(id=1, number=5, name="in the cache alone")
                found.put(use_datastore=False)
                raw = cached_bytes(cache, found.key)
                read = found.key.get(use_datastore=False, use_cache=False)
                return parsed(raw), describe(read), storages(read)

        message, read, storage = cached()
        assert storage == {"dict"}
        with sides.lazily():
            assert cached() == (message, read, {"LazyValues"})

    def test_of_a_model_that_was_read_and_changed(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides

        def cached(activation: Any) -> Any:
            cache.clear()
            sides.store()
            with activation(), sides.own_context(global_cache=cache, legacy_data=False):
                found = stored_key().get()
                found.text = "changed"
                found.tags.append("one more")
                found.put(use_datastore=False)
                return parsed(cached_bytes(cache, found.key))

        assert cached(sides.lazily) == cached(nullcontext)
