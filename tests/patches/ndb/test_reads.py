"""Reads by key give stock ndb's results from every caller, and decode only what is read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import global_cache
from google.cloud.ndb.context import get_context

import lazyentity
from tests.patches.models.pairs import undecoded
from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.describing import storages
from tests.patches.ndb.model_snapshots import attempt
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import (
    ALL,
    MISSING,
    Circle,
    Constructed,
    Dotted,
    Hooked,
    Item,
    Loose,
    Residence,
    Shape,
    item_keys,
)


def _one_key_many_times() -> Any:
    found = ndb.get_multi(item_keys(1, 2, 1), use_cache=False)
    return found, found[0] is found[2]


def _constructed() -> Any:
    """A constructor runs, and stored values replace those that it sets."""
    found = ndb.Key(Constructed, 1).get()
    return found, found.noted, found.made


def _shapes() -> Any:
    """An entity is an instance of the class that it was stored by."""
    found = ndb.get_multi([ndb.Key(Shape, 1), ndb.Key(Shape, 2)])
    assert [type(one) for one in found] == [Shape, Circle]
    return found


SEVERAL_KINDS = [(Item, 1), (Shape, 1), (Shape, 2), (Hooked, 1), (Item, 2)]
READS: dict[str, Callable[[], Any]] = {
    "get": lambda: ndb.Key(Item, 1).get(),
    "get_by_id": lambda: Item.get_by_id(2),
    "get_async": lambda: [f.result() for f in [key.get_async() for key in item_keys(*ALL)]],
    "get_multi": lambda: ndb.get_multi(item_keys(*ALL)),
    "get_multi_async": lambda: [
        future.result() for future in ndb.get_multi_async(item_keys(3, 1, 2))
    ],
    "one key many times": _one_key_many_times,
    "missing": lambda: ndb.Key(Item, MISSING).get(),
    "some are missing": lambda: ndb.get_multi(item_keys(1, MISSING, 2, MISSING + 1, 3)),
    "past the cache": lambda: ndb.get_multi(item_keys(1, 2), use_cache=False),
    "eventual": lambda: ndb.get_multi(item_keys(1, 2), read_consistency=ndb.EVENTUAL),
    "several kinds": lambda: ndb.get_multi([ndb.Key(*pair) for pair in SEVERAL_KINDS]),
    "polymodel": _shapes,
    "constructor": _constructed,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads(sides: Sides, read: Callable[[], Any]) -> None:
    sides.check(read)


FUTURES = Scenarios()
"""Scenarios of many futures, whose models are not all lazy, or are not returned."""


def _all_async(**options: Any) -> list[Any]:
    futures: list[Any] = ndb.get_multi_async(item_keys(*ALL), **options)
    return futures


def _cancelled(futures: list[Any]) -> list[Any]:
    for future in futures:
        future.cancel()
    return _states(futures)


def _states(futures: list[Any]) -> list[Any]:
    return [(future.done(), future.running()) for future in futures]


def _ended(futures: list[Any]) -> list[Any]:
    return [attempt(future.result) for future in futures]


@FUTURES()
def some_are_cancelled() -> Any:
    futures = _all_async()
    return _cancelled(futures[::2]), _states(futures), _ended(futures)


@FUTURES()
def neither_the_cache_nor_the_datastore_may_be_asked() -> Any:
    futures = _all_async(use_datastore=False, use_cache=False)
    return _cancelled(futures[1:]), _ended(futures), Item.query().count()


@FUTURES()
def futures_end_in_order() -> Any:
    ended: list[int] = []
    futures = _all_async()
    for number, future in enumerate(futures):
        future.add_done_callback(lambda _, number=number: ended.append(number))
    futures[-1].result()
    return [ended, _states(futures), ended]


def _policies_are_asked_as_often() -> Any:
    asked: list[Any] = []

    def policy(name: str) -> Any:
        def allow(key: Any) -> bool:
            asked.append((name, type(key).__name__))
            return True

        return allow

    for name in ("cache_policy", "datastore_policy", "global_cache_policy"):
        getattr(get_context(), f"set_{name}")(policy(name))
    found = ndb.get_multi(item_keys(*ALL))
    # The batch of each key is looked for at another time.
    return [len(found), sorted(asked)]


FUTURES.add("policies", _policies_are_asked_as_often)
FUTURES.add(
    "policies with a cache",
    _policies_are_asked_as_often,
    global_cache=global_cache._InProcessGlobalCache(),
)


test_many_futures = FUTURES.on_one_server(lazy=None)


@pytest.mark.parametrize("policy", ["cache_policy", "datastore_policy"])
@pytest.mark.parametrize(
    "error", [ValueError(), KeyError(1), StopIteration(1), ndb.Return(1)], ids=repr
)
@pytest.mark.parametrize(
    ("ids", "cancelled"), [([2], False), (ALL, False), (ALL, True)], ids=["one", "all", "cancelled"]
)
def test_policies_that_raise(
    loopback_sides: Sides, policy: str, error: Exception, ids: list[int], cancelled: bool
) -> None:
    """Each future ends as a tasklet, with its own error, and the loop goes on to serve others."""

    def fail(key: Any) -> bool:
        # One policy gets the keys of google-cloud-datastore.
        if (key.id if policy == "datastore_policy" else key.id()) in ids:
            raise error
        return policy == "datastore_policy"

    def scenario() -> Any:
        context = get_context()
        getattr(context, f"set_{policy}")(fail)
        futures = _all_async()
        states = [_states(futures)]
        if cancelled:
            states.append(_cancelled(futures))
        ended = _ended(futures)
        getattr(context, f"set_{policy}")(None)
        return [states, ended, Item.query().count()]

    loopback_sides.check(scenario, lazy=None)


def test_get_or_insert_of_what_is_there(sides: Sides) -> None:
    def inserted() -> Any:
        first = Hooked.get_or_insert("a name", number=1)
        ndb.get_context().clear_cache()
        return first, Hooked.get_or_insert("a name", number=2)

    sides.check(inserted, lazy=None, writes=True)


@pytest.mark.parametrize(("kind", "works"), [(None, False), ("Smaller", False), ("Hooked", True)])
def test_another_class_or_none(
    sides: Sides, monkeypatch: pytest.MonkeyPatch, kind: str | None, works: bool
) -> None:
    """Stored names that are no properties any more are passed over."""
    monkeypatch.delitem(ndb.Model._kind_map, "Hooked")
    if kind is not None:
        smaller = type(kind, (ndb.Model,), {"number": ndb.IntegerProperty()})
        monkeypatch.setitem(ndb.Model._kind_map, "Hooked", smaller)
    sides.check(lambda: ndb.Key("Hooked", 1).get(use_cache=False), works=works)


def test_after_the_context(loopback_sides: Sides) -> None:
    """Models can be read when their context is gone."""

    def read() -> Any:
        with loopback_sides.context():
            found = ndb.get_multi([*item_keys(*ALL), ndb.Key(Dotted, 1), ndb.Key(Shape, 2)])
        return [
            attempt(functools.partial(getattr, one, prop._code_name))
            for one in found
            for prop in one._properties.values()
        ]

    expected = read()
    with loopback_sides.lazily():
        assert read() == expected


def test_calls(loopback_sides: Sides) -> None:
    """One call for many keys, one for each set of options, and none for no keys."""
    options: list[dict[str, Any]] = [
        {},
        {"use_cache": False},
        {"read_consistency": ndb.EVENTUAL},
        {"timeout": 5},
        {"retries": 1, "timeout": 5},
        {"timeout": 5, "retries": 1},
        {"use_cache": False},
    ]

    def counted() -> Any:
        with counted_calls() as calls:
            assert ndb.get_multi([]) == calls == []
            many = ndb.get_multi([*item_keys(*ALL, MISSING, 1), ndb.Key(Shape, 1)])
            assert calls == ["lookup"]
            ndb.get_context().clear_cache()
            keys = zip(item_keys(*ALL), options, strict=True)
            futures = [key.get_async(**chosen) for key, chosen in keys]
            multi = ndb.get_multi(item_keys(1, 2), use_cache=False)
            return many, [future.result() for future in futures], multi, calls

    loopback_sides.check(counted)


@pytest.mark.parametrize("options", [{"nonsense": 1}, {"timeout": 1, "deadline": 1}])
def test_wrong_options(loopback_sides: Sides, options: Any) -> None:
    loopback_sides.check(lambda: ndb.get_multi(item_keys(1, 2), **options), works=False)
    loopback_sides.check(lambda: ndb.Key(Item, 1).get(**options), works=False)


# Laziness.


def test_models_of_eager_calls_are_stock_throughout(loopback_sides: Sides) -> None:
    with loopback_sides.lazy_context():
        with lazyentity.eager():
            found = [*Item.query().fetch(), ndb.Key(Item, 2).get(use_cache=False)]
        for one in found:
            assert storages([one, one.address, *one.addresses, one.site]) == {"dict"}


@pytest.mark.parametrize("projection", [None, [Item.number, Item.text]])
def test_results_reached_outside_of_eager(loopback_sides: Sides, projection: Any) -> None:
    """The decision belongs to the call: its results stay stock, or lazy."""
    with loopback_sides.lazy_context():
        iterator, lazy = Item.query().iter(projection=projection), Shape.query().iter()
        assert lazy.has_next()
        with lazyentity.eager():
            assert iterator.has_next()
            assert storages(next(lazy)) == {"LazyValues"}
        assert storages(next(iterator)) == {"dict"}


@pytest.mark.parametrize(
    "read",
    [
        lambda: ndb.Key(Item, 1).get(),
        lambda: ndb.get_multi(item_keys(1, 2))[0],
        lambda: Item.query().fetch()[0],
        lambda: Item.query(Item.parity == "odd").get(),
        lambda: next(iter(Item.query())),
        lambda: Item.query().map(lambda one: one)[0],
        lambda: Item.query().fetch_page(2)[0][0],
        lambda: Item.query(Item.parity.IN(["odd", "even"])).fetch()[0],
        lambda: ndb.transaction(lambda: ndb.Key(Item, 1).get()),
        *(lambda kind=kind: ndb.Key(kind, 1).get() for kind in (Shape, Hooked, Dotted)),
        lambda: ndb.Key(Loose, 2).get(),
    ],
)
def test_nothing_is_decoded(sides: Sides, read: Any) -> None:
    with sides.lazy_context():
        found = read()
        assert undecoded(found) == set(found._values) >= {"number"}


def test_what_is_read_is_decoded(loopback_sides: Sides) -> None:
    with loopback_sides.lazy_context():
        found = ndb.Key(Item, 1).get()
        names = set(found._values)
        assert found.to_dict(include=["number"]) == {"number": 1}
        assert undecoded(found) == names - {"number"}
        found.text = "assigned"
        del found.flag
        assert undecoded(found) == names - {"number", "t", "flag"}
        assert found.key.id() == 1
        assert found.tags == ["all", "tag 1"]
        assert found.tags is found.tags
        assert undecoded(found) == names - {"number", "t", "flag", "tags"}
        for nested in (found.address, found.addresses[1], found.site.address):
            assert isinstance(nested, Residence)
            assert undecoded(nested) == {"street", "c"}
            assert nested.city in ("odd", "even")
            assert undecoded(nested) == {"street"}
        constructed = ndb.Key(Constructed, 1).get()
        assert storages(constructed) == {"LazyValues"}
        assert "number" in undecoded(constructed)
