"""patch("ndb", eager=True): models as ndb makes them, of entities that are decoded faster."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import model
from google.cloud.ndb.global_cache import _InProcessGlobalCache

import lazyentity
from lazyentity import LazyEntity
from tests.patches.ndb.describing import attempt, storages
from tests.patches.ndb.pairs import CLIENT, received, stock_model, written
from tests.patches.ndb.raw_entities import entity_of
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Dotted, Hooked, Item, Loose, Residence, Shape
from tests.support.stock import learn_names

KINDS = [Item, Dotted, Loose, Shape, Hooked]


def _order(found: Any) -> list[Any]:
    """Names in the order that models have them, which for an Expando is that of the entity."""
    return [[list(one._values), list(one._properties)] for one in found if one is not None]


READS: dict[str, Callable[[], Any]] = {
    "get": lambda: [ndb.Key(kind, 1).get() for kind in KINDS],
    "get_multi": lambda: ndb.get_multi([ndb.Key(kind, one) for kind in KINDS for one in (1, 1000)]),
    "of an Expando": lambda: ndb.get_multi([ndb.Key(Loose, number) for number in (1, 2)]),
    "fetch": lambda: Item.query().order(Item.number).fetch(),
    "in batches": lambda: list(Item.query().order(Item.number).iter()),
    "embedded": lambda: Item.query(Item.address == Residence(street="Street 1", city="c")).fetch(),
    "projection": lambda: Item.query().order(Item.number).fetch(projection=[Item.number]),
    "in a transaction": lambda: ndb.transaction(lambda: [ndb.Key(Loose, 1).get()]),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("names", [(), ("ndb",)], ids=["all", "ndb alone"])
def test_reads(loopback_sides: Sides, read: Callable[[], Any], names: Any) -> None:
    """Models, and the order of their properties, are stock ndb's."""
    sides = loopback_sides

    def run() -> Any:
        with sides.context():
            found = read()
            assert storages(found) <= {"dict"}
            return attempt(lambda: found), _order(found)

    stock = run()
    lazyentity.patch(*names, eager=True)
    assert run() == stock


def test_the_mode_can_be_changed(loopback_sides: Sides) -> None:
    """The mode of ndb changes with the next conversion, independent of the other client's."""
    sides = loopback_sides
    for eager, expected in ((True, "dict"), (False, "LazyValues"), (True, "dict")):
        lazyentity.patch("datastore", eager=not eager)
        lazyentity.patch("ndb", eager=eager)
        with sides.context(cache_policy=False):
            assert storages(ndb.Key(Item, 1).get()) == {expected}
            assert storages(Item.query().fetch(1)) == {expected}


def test_from_the_global_cache(loopback_sides: Sides) -> None:
    """Models of bytes that stock or patched ndb cached are stock ndb's as well.

    Only the order depends on the writer of the cache: stock ndb caches entities that it encoded
    again.
    """
    sides = loopback_sides

    def run() -> Any:
        with sides.context(global_cache=_InProcessGlobalCache()):
            found = ndb.get_multi([ndb.Key(kind, 1) for kind in KINDS])
            return storages(found), attempt(lambda: found)

    # All of them share one dict.
    _InProcessGlobalCache.cache.clear()
    stock = run()
    try:
        for fill in (None, lambda: lazyentity.patch(eager=False)):
            if fill is not None:
                _InProcessGlobalCache.cache.clear()
                fill()
                run()
            lazyentity.patch(eager=True)
            for _ in range(2):
                assert run() == stock
                assert _InProcessGlobalCache.cache
    finally:
        lazyentity.unpatch()
        _InProcessGlobalCache.cache.clear()


def test_writes(loopback_sides: Sides) -> None:
    """Eagerly read models are written as by stock ndb."""
    sides = loopback_sides

    def rewrite() -> None:
        with sides.own_context():
            item = ndb.Key(Item, 1).get()
            item.number += 1
            item.put()

    def stored() -> Any:
        with sides.own_context():
            return attempt(lambda: ndb.Key(Item, 1).get())

    sides.store()
    rewrite()
    expected = stored()
    sides.store()
    lazyentity.patch(eager=True)
    rewrite()
    lazyentity.unpatch()
    assert stored() == expected


def _dynamic(one: Any) -> Any:
    return [
        (name, type(prop), list(vars(prop).items())) for name, prop in one._properties.items()
    ], list(vars(one))


@pytest.mark.parametrize("is_patched", [True, False], ids=["patched", "inside eager()"])
def test_dynamic_properties(loopback_sides: Sides, is_patched: bool) -> None:
    """Those of an Expando have what stock ndb's have, and are those of one model alone."""
    sides = loopback_sides

    def read() -> Any:
        with sides.context(cache_policy=False):
            return ndb.Key(Loose, 2).get()

    stock = read()
    lazyentity.patch(eager=is_patched)
    with lazyentity.eager():
        one, another = read(), read()
    assert storages([one, another]) == {"dict"}
    assert type(one._properties) is dict
    assert _dynamic(one) == _dynamic(stock)
    made = [name for name, prop in one._properties.items() if type(prop) is ndb.GenericProperty]
    assert made
    assert not any(one._properties[name] is another._properties[name] for name in made)


def test_properties_made_in_another_way(
    loopback_sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where somebody replaced their constructor, that makes each of them."""
    sides = loopback_sides
    original = ndb.Property.__init__
    made: list[Any] = []

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # its name
        made.append(self)
        original(self, *args, **kwargs)

    lazyentity.patch(eager=True)
    monkeypatch.setattr(ndb.Property, "__init__", __init__)
    with sides.context(cache_policy=False):
        found = ndb.Key(Loose, 2).get()
    monkeypatch.undo()
    dynamic = [p for p in found._properties.values() if type(p) is ndb.GenericProperty]
    assert dynamic
    assert all(any(one is prop for one in made) for prop in dynamic)


VALUES: dict[str, Any] = {
    "nothing": None,
    "empty": [],
    "bytes": b"bytes",
    "texts": ["a", "b"],
    "moment": datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
    "place": ndb.GeoPt(1, 2),
    "a_key": lambda: ndb.Key("Other", "name"),
    "inside": {"deep": {"deeper": [1, 2]}},
    "insides": [{"deep": 1}, {"deep": 2}],
    "number": 5,
}


@pytest.mark.parametrize("names", [[name] for name in VALUES] + [list(VALUES), []])
def test_values_of_dynamic_properties(loopback_sides: Sides, names: list[str]) -> None:
    sides = loopback_sides

    def read() -> Any:
        with sides.context(cache_policy=False):
            found = ndb.Key(Loose, 77).get()
            return attempt(lambda: found), _order([found]), storages(found), _dynamic(found)

    with sides.context():
        made = Loose(id=77)
        for name in names:
            value = VALUES[name]
            # A key can be made only here.
            setattr(made, name, value() if callable(value) else value)
        made.put()
    stock = read()
    lazyentity.patch(eager=True)
    # The second time, what is known of the class and the names is used again.
    assert [read(), read(), read()] == [stock] * 3


class _Setting(ndb.Expando):
    known = ndb.IntegerProperty("k")
    created = ndb.StringProperty("c")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.created = "by the constructor"


class _Adding(ndb.Expando):
    known = ndb.IntegerProperty("k")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.added = "by the constructor"


class _Marking(ndb.Expando):
    known = ndb.IntegerProperty("k")

    def _set_attributes(self, kwargs: Any) -> None:
        super()._set_attributes(kwargs)
        self.known = 7


class _Making(ndb.Expando):
    known = ndb.IntegerProperty("k")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        vars(made)["mark"] = 1
        return made


@pytest.mark.parametrize("kind", [_Setting, _Adding, _Marking, _Making])
@pytest.mark.parametrize(
    "values", [{}, {"k": 1}, {"x": 2}, {"k": 1, "c": "stored"}, {"added": "stored", "k": None}]
)
def test_constructors_that_set_values(kind: Any, values: dict[str, Any]) -> None:
    """A model has the values of its constructor that its entity lacks, and writes them."""
    raw = entity_of(kind._get_kind(), values)
    with CLIENT.context():
        stock = stock_model(raw)
        expected = _read_and_written(stock)
        lazyentity.patch(eager=True)
        for _ in range(3):
            learn_names(LazyEntity, raw)
            made = model._entity_from_protobuf(received(raw))
            assert _read_and_written(made) == expected


def _read_and_written(made: Any) -> Any:
    return (
        type(made),
        sorted(made._values),
        sorted(made._properties),
        vars(made).get("mark"),
        type(made._values),
        made.to_dict(),
        written(made),
    )
