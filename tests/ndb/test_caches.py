"""The global cache: hits give lazily what stock ndb gives, and stock ndb reads what is cached."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import global_cache

import lazyentity
from lazyentity.undecoded import UNDECODED
from tests.ndb.cache_servers import running_memcached, running_redis
from tests.ndb.caches import (
    CACHES,
    cached_bytes,
    counted_calls,
    parsed,
    read_through,
    write_through,
)
from tests.ndb.conftest import Server
from tests.ndb.describing import FIRST_VIEWS, attempt, describe, storages
from tests.ndb.sides import Sides
from tests.ndb.stored import COUNT, Circle, Constructed, Dotted, Hooked, Item, Loose, Shape

# ndb calls redis as it always did.
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning")

Shared = tuple[str, int, str, str]

KINDS = (Item, Dotted, Loose, Shape, Hooked, Constructed)
PAIRS = [
    *(("Item", number) for number in range(1, COUNT + 1)),
    *[("Dotted", 1), ("Loose", 1), ("Loose", 2), ("Shape", 1), ("Shape", 2), ("Hooked", 1)],
]


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    # Fails, not skips, when it is asked for and there is none.
    folder: Path = tmp_path_factory.mktemp("redis")
    with running_redis(folder) as port:
        yield port


@pytest.fixture(scope="session")
def memcache_port() -> Iterator[int]:
    # As for redis_port.
    with running_memcached() as port:
        yield port


SERVERS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in CACHES]


@pytest.fixture(params=["in-process", *SERVERS])
def cache(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A global cache with nothing in it."""
    if request.param == "in-process":
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(global_cache._InProcessGlobalCache, "cache", {})
            yield global_cache._InProcessGlobalCache()
        return
    with CACHES[request.param](request.getfixturevalue(f"{request.param}_port")) as made:
        made.clear()
        yield made


def _key(kind: Any = Item, number: int = 1) -> Any:
    return ndb.Key(kind, number)


def _keys() -> list[Any]:
    return [ndb.Key(*pair) for pair in PAIRS]


def _read(sides: Sides, cache: Any, read: Any, **options: Any) -> tuple[Any, list[str]]:
    """Read in a context of its own; return what was read, and the calls that it took."""
    with counted_calls() as calls, sides.context(global_cache=cache, **options):
        return describe(read()), calls


class Failed(Exception):
    """What a transaction is ended by."""


class TestHits:
    """What is in the cache is not asked of the datastore."""

    def test_give_what_stock_gives(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        stock, calls = _read(sides, None, lambda: ndb.get_multi(_keys()))
        assert calls == ["lookup"]
        with sides.lazily():
            for expected in (["lookup"], [], []):
                assert _read(sides, cache, lambda: ndb.get_multi(_keys())) == (stock, expected)
        assert _read(sides, cache, lambda: ndb.get_multi(_keys())) == (stock, [])

    def test_of_what_stock_cached(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        stock, _ = _read(sides, cache, lambda: ndb.get_multi(_keys()))
        with sides.lazily():
            assert _read(sides, cache, lambda: ndb.get_multi(_keys())) == (stock, [])

    def test_are_not_what_is_stored(self, loopback_sides: Sides, cache: Any) -> None:
        """What was changed behind the cache's back is still read as it is cached."""
        sides = loopback_sides
        sides.store()
        with sides.own_context(legacy_data=False):
            changed = _key().get()
        with sides.lazily():
            with sides.own_context(global_cache=cache):
                before = describe(_key().get())
            with sides.own_context(legacy_data=False):
                changed.text = "behind its back"
                changed.put()
            with sides.own_context(global_cache=cache):
                assert describe(_key().get()) == before
                passed_over = _key().get(use_global_cache=False, use_cache=False)
                assert passed_over.text == "behind its back"

    def test_are_lazy(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        with sides.lazily():
            for expected in (["lookup"], []):
                with counted_calls() as calls, sides.context(global_cache=cache):
                    found = ndb.get_multi([_key(), _key(Shape, 2), _key(Hooked), _key(Dotted)])
                    assert calls == expected
                    assert type(found[1]) is Circle
                    assert [type(one._values).__name__ for one in found] == [
                        *(["LazyValues"] * 3),
                        "dict",
                    ]
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
                    assert storages(ndb.get_multi(_keys())) == {"dict"}
                    assert calls == expected

    @pytest.mark.parametrize("kind", KINDS)
    def test_whatever_is_done_first(self, loopback_sides: Sides, cache: Any, kind: Any) -> None:
        """Nothing has to be read of a model before something else works."""
        sides = loopback_sides

        def seen() -> Any:
            descriptions = []
            for see in FIRST_VIEWS.values():
                with counted_calls() as calls, sides.context(global_cache=cache):
                    found = _key(kind).get()
                    first = attempt(functools.partial(see, found))
                    descriptions.append([first, describe(found), calls])
            return descriptions

        _read(sides, cache, lambda: _key(kind).get())
        stock = seen()
        with sides.lazily():
            assert seen() == stock

    def test_of_some(self, loopback_sides: Sides, cache: Any) -> None:
        """Hits, misses and what does not exist, in one read."""
        sides = loopback_sides
        keys = [("Item", number) for number in (1, COUNT + 1, 2, 3)]
        with sides.context():
            stock = describe(ndb.get_multi([ndb.Key(*pair) for pair in keys]))
        with sides.lazily():
            _read(sides, cache, lambda: _key(Item, 2).get())
            for _ in range(2):
                read, calls = _read(
                    sides, cache, lambda: ndb.get_multi([ndb.Key(*pair) for pair in keys])
                )
                assert read == stock
                # What does not exist is asked for again.
                assert calls == ["lookup"]

    def test_hooks(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides

        def hooked() -> Any:
            Hooked.got.clear()
            found = _key(Hooked).get()
            (got,) = Hooked.got
            Hooked.got.clear()
            return [found, got[0], got[1] is found]

        stock, _ = _read(sides, cache, hooked)
        with sides.lazily():
            assert _read(sides, cache, hooked) == (stock, [])

    def test_the_context_comes_first(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache):
            found = _key().get()
            assert _key().get() is found
            assert _key().get(use_cache=False) is not found


class TestCachedBytes:
    """What is in the cache is what stock ndb puts there."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_after_a_read(self, loopback_sides: Sides, cache: Any, kind: Any) -> None:
        sides = loopback_sides

        def cached() -> Any:
            cache.clear()
            with sides.context(global_cache=cache):
                found = _key(kind).get()
                raw = cached_bytes(cache, found.key)
            return parsed(raw)

        stock = cached()
        with sides.lazily():
            assert cached() == stock
            with lazyentity.eager():
                assert cached() == stock

    def test_reading_a_model_changes_nothing(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache):
            found = _key().get()
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
                found = _key().get()
                found.text = "changed"
                found.tags.append("one more")
                found.put(use_datastore=False)
                return parsed(cached_bytes(cache, found.key))

        assert cached(sides.lazily) == cached(nullcontext)


class TestWrites:
    """Writes leave nothing in the cache that is not true any more."""

    def test_put(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        sides.store()
        with sides.lazily():
            with sides.own_context(global_cache=cache, legacy_data=False):
                found = _key().get()
                found.text = "changed"
                found.put()
            with sides.own_context(global_cache=cache), counted_calls() as calls:
                again = _key().get()
                assert again.text == "changed"
                assert calls == ["lookup"]
                assert storages(again) == {"LazyValues"}
            with sides.own_context(global_cache=cache), counted_calls() as calls:
                assert _key().get().text == "changed"
                assert calls == []

    def test_delete(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        sides.store()
        with sides.lazily():
            with sides.own_context(global_cache=cache):
                _key().get().key.delete()
            with sides.own_context(global_cache=cache):
                assert _key().get() is None

    @pytest.mark.parametrize("fails", [False, True])
    def test_transaction(self, loopback_sides: Sides, cache: Any, *, fails: bool) -> None:
        """A transaction reads past the cache, and what it writes is not hidden by it."""
        sides = loopback_sides
        sides.store()

        def inside() -> Any:
            found = _key().get()
            found.text = "in a transaction"
            found.put()
            if fails:
                raise Failed

        with sides.lazily():
            with sides.own_context(global_cache=cache, legacy_data=False):
                before = _key().get().text
                with counted_calls() as calls, pytest.raises(Failed) if fails else nullcontext():
                    ndb.transaction(inside)
                assert "lookup" in calls
            with sides.own_context(global_cache=cache):
                assert _key().get().text == (before if fails else "in a transaction")


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
                _, calls = _read(sides, cache, lambda: _key().get(**read), **options)
                assert calls == ["lookup"]
            with sides.context():
                assert cached_bytes(cache, _key()) is None

    def test_neither_cache_nor_datastore(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache), pytest.raises(TypeError):
            _key().get(use_global_cache=False, use_datastore=False)

    def test_cache_alone(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache):
            assert _key().get(use_datastore=False) is None
            _key().get(use_cache=False)
            with counted_calls() as calls:
                assert storages(_key().get(use_datastore=False, use_cache=False)) == {"LazyValues"}
            assert calls == []

    def test_timeout(self, loopback_sides: Sides, cache: Any) -> None:
        sides = loopback_sides
        timeouts = []

        class Noting(type(cache)):  # type: ignore[misc]  # whichever it is
            def compare_and_swap(self, items: Any, expires: Any = None) -> Any:
                timeouts.append(expires)
                return super().compare_and_swap(items, expires=expires)

        cache.__class__ = Noting
        with sides.lazily():
            _read(sides, cache, lambda: _key().get(), global_cache_timeout_policy=lambda _: 60)
            _read(sides, cache, lambda: _key(Item, 2).get(global_cache_timeout=30))
        assert timeouts == [60, 30]

    def test_queries_do_not_ask_it(self, loopback_sides: Sides, cache: Any) -> None:
        with loopback_sides.lazy_context(global_cache=cache), counted_calls() as calls:
            found = Item.query().fetch()
            assert calls[0] == "run_query"
            assert storages(found) == {"LazyValues"}
            assert cached_bytes(cache, found[0].key) is None


class TestOtherProcesses:
    """A stock process and a patched one share one server of a cache."""

    @pytest.fixture(params=SERVERS)
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
        assert lazy["storages"] == ["LazyValues", "dict"]
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
        assert lazy["storages"] == ["LazyValues", "dict"]
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
