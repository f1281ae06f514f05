"""Writes, policies and other processes with the global cache."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest
from google.cloud import ndb

from tests.patches.ndb.caches import (
    CACHE_SERVERS,
    CACHES,
    cached_bytes,
    counted_calls,
    read_through,
    write_through,
)
from tests.patches.ndb.conftest import Server
from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Sides, read_counted
from tests.patches.ndb.stored import PAIRS, Item, stored_key

# ndb calls redis as it always did.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning")

Shared = tuple[str, int, str, str]


class Failed(Exception):
    """Ends a transaction."""


class TestWrites:
    """Writes leave nothing in the cache that is not true any more."""

    def test_put(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        sides.store()
        with sides.lazily():
            with sides.own_context(global_cache=cache, legacy_data=False):
                found = stored_key().get()
                found.text = "changed"
                found.put()
            with sides.own_context(global_cache=cache), counted_calls() as calls:
                again = stored_key().get()
                assert again.text == "changed"
                assert calls == ["lookup"]
                assert storages(again) == {"LazyValues"}
            with sides.own_context(global_cache=cache), counted_calls() as calls:
                assert stored_key().get().text == "changed"
                assert calls == []

    def test_delete(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        sides.store()
        with sides.lazily():
            with sides.own_context(global_cache=cache):
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


class TestPolicies:
    @pytest.mark.parametrize("by", ["policy", "option", "class"])
    def test_not_in_the_global_cache(
        self, loopback_sides: Sides, cache: Any, by: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sides = loopback_sides
        options: dict[str, Any] = {}
        if by == "policy":
            # Called with the key of google-cloud-datastore.
            options["global_cache_policy"] = lambda key: key.kind != "Item"
        elif by == "class":
            monkeypatch.setattr(Item, "_use_global_cache", False, raising=False)
        read = {"use_global_cache": False} if by == "option" else {}
        with sides.lazily():
            for _ in range(2):
                _, calls = read_counted(sides, cache, lambda: stored_key().get(**read), **options)
                assert calls == ["lookup"]
            with sides.context():
                assert cached_bytes(cache, stored_key()) is None

    def test_neither_cache_nor_datastore(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache), pytest.raises(TypeError):
            stored_key().get(use_global_cache=False, use_datastore=False)

    def test_cache_alone(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache):
            assert stored_key().get(use_datastore=False) is None
            stored_key().get(use_cache=False)
            with counted_calls() as calls:
                assert storages(stored_key().get(use_datastore=False, use_cache=False)) == {
                    "LazyValues"
                }
            assert calls == []

    def test_timeout(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        timeouts = []

        class Noting(type(cache)):  # type: ignore[misc]  # either class
            def compare_and_swap(self, items: Any, expires: Any = None) -> Any:
                timeouts.append(expires)
                return super().compare_and_swap(items, expires=expires)

        cache.__class__ = Noting
        with sides.lazily():
            read_counted(
                sides, cache, lambda: stored_key().get(), global_cache_timeout_policy=lambda _: 60
            )
            read_counted(sides, cache, lambda: stored_key(Item, 2).get(global_cache_timeout=30))
        assert timeouts == [60, 30]

    def test_queries_do_not_ask_it(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache), counted_calls() as calls:
            found = Item.query().fetch()
            assert calls[0] == "run_query"
            assert storages(found) == {"LazyValues"}
            assert cached_bytes(cache, found[0].key) is None


class TestOtherProcesses:
    """A stock process and a patched one share one server of a cache."""

    @pytest.fixture(params=CACHE_SERVERS)
    def shared(
        self, request: pytest.FixtureRequest, loopback: Server, loopback_sides: Sides
    ) -> Shared:
        """The cache with its port, the datastore and the namespace that they share."""
        name = request.param
        port: int = request.getfixturevalue(f"{name}_port")
        with CACHES[name](port) as cache:
            cache.clear()
        loopback_sides.store()
        return name, port, loopback.host, loopback_sides.own

    def test_stock_reads_what_was_cached_lazily(
        self,
        shared: Shared,
        stock_process: ProcessPoolExecutor,
        loopback_sides: Sides,
    ) -> None:
        with loopback_sides.lazily():
            lazy = read_through(*shared, PAIRS)
        stock = stock_process.submit(read_through, *shared, PAIRS).result()
        assert lazy["calls"] == ["lookup"]
        assert lazy["storages"] == ["LazyValues"]
        assert stock == {**lazy, "calls": [], "storages": ["dict"], "lazyentity": False}

    def test_what_stock_cached_is_read_lazily(
        self,
        shared: Shared,
        stock_process: ProcessPoolExecutor,
        loopback_sides: Sides,
    ) -> None:
        stock = stock_process.submit(read_through, *shared, PAIRS).result()
        with loopback_sides.lazily():
            lazy = read_through(*shared, PAIRS)
        assert not stock["lazyentity"]
        assert stock["calls"] == ["lookup"]
        assert lazy["calls"] == []
        assert lazy["storages"] == ["LazyValues"]
        assert lazy["found"] == stock["found"]

    def test_writes_are_seen_by_the_other(
        self,
        shared: Shared,
        stock_process: ProcessPoolExecutor,
        loopback_sides: Sides,
    ) -> None:
        first = [("Item", 1)]
        with loopback_sides.lazily():
            read_through(*shared, first)
            write_through(*shared, "written lazily")
        stock = stock_process.submit(read_through, *shared, first).result()
        assert "written lazily" in repr(stock["found"])
        stock_process.submit(write_through, *shared, "written by stock").result()
        with loopback_sides.lazily():
            lazy = read_through(*shared, first)
        assert "written by stock" in repr(lazy["found"])
