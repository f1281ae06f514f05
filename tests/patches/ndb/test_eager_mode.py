"""patch("ndb", eager=True): models as ndb makes them, of entities that are decoded faster."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key
from google.cloud.ndb import model
from google.cloud.ndb.global_cache import _InProcessGlobalCache

import lazyentity
from lazyentity import LazyEntity
from tests.patches.ndb.describing import storages
from tests.patches.ndb.model_snapshots import describe
from tests.patches.ndb.pairs import CLIENT, received, written
from tests.patches.ndb.raw_entities import embedded, entity_of
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Dotted, Hooked, Item, Loose, Residence, Shape
from tests.support.stock import learn_names, stock_entity

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

    def run() -> Any:
        with loopback_sides.context():
            found = read()
            assert storages(found) <= {"dict"}
            return describe(found), _order(found)

    stock = run()
    lazyentity.patch(*names, eager=True)
    assert run() == stock


def test_from_the_global_cache(loopback_sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of bytes that stock or patched ndb cached are stock ndb's as well.

    Only the order depends on the writer of the cache: stock ndb caches entities that it encoded
    again.
    """

    def run() -> Any:
        with loopback_sides.context(global_cache=_InProcessGlobalCache()):
            found = ndb.get_multi([ndb.Key(kind, 1) for kind in KINDS])
            return storages(found), describe(found)

    # All of them share one dict.
    monkeypatch.setattr(_InProcessGlobalCache, "cache", {})
    stock = run()
    for is_filled_lazily in (False, True):
        if is_filled_lazily:
            _InProcessGlobalCache.cache.clear()
            lazyentity.patch(eager=False)
            run()
        lazyentity.patch(eager=True)
        for _ in range(2):
            assert run() == stock
            assert _InProcessGlobalCache.cache


def _dynamic(one: Any) -> Any:
    return [
        (name, type(prop), list(vars(prop).items())) for name, prop in one._properties.items()
    ], list(vars(one))


@pytest.mark.parametrize("is_patched", [True, False], ids=["patched", "inside eager()"])
def test_dynamic_properties(
    loopback_sides: Sides, is_patched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Properties of an Expando have what stock ndb's have, and no two models share one.

    Where somebody replaced their constructor, that makes each of them.
    """

    def read() -> Any:
        with loopback_sides.context(cache_policy=False):
            return ndb.Key(Loose, 2).get()

    stock = read()
    lazyentity.patch(eager=is_patched)
    with lazyentity.eager():
        one, another = read(), read()
    assert storages([one, another]) == {"dict"}
    assert type(one._properties) is dict
    assert _dynamic(one) == _dynamic(stock)
    names = [name for name, prop in one._properties.items() if type(prop) is ndb.GenericProperty]
    assert names
    assert not any(one._properties[name] is another._properties[name] for name in names)

    original = ndb.Property.__init__
    made: list[Any] = []

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # its name
        made.append(self)
        original(self, *args, **kwargs)

    monkeypatch.setattr(ndb.Property, "__init__", __init__)
    with lazyentity.eager():
        found = read()
    assert all(any(one is found._properties[name] for one in made) for name in names)


class _Known(ndb.Expando):
    known = ndb.IntegerProperty("k")


class _Setting(_Known):
    created = ndb.StringProperty("c")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.created = "by the constructor"


class _Adding(_Known):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.added = "by the constructor"


class _Marking(_Known):
    def _set_attributes(self, kwargs: Any) -> None:
        super()._set_attributes(kwargs)
        self.known = 7


class _Making(_Known):
    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        vars(made)["mark"] = 1
        return made


VALUES: dict[str, Any] = {
    "nothing": None,
    "empty": [],
    "bytes": b"bytes",
    "texts": ["a", "b"],
    "moment": datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.timezone.utc),
    "place": GeoPoint(1, 2),
    "a_key": Key("Other", "name", project="p"),
    "inside": embedded(deep=embedded(deeper=[1, 2])),
    "insides": [embedded(deep=1), embedded(deep=2)],
    "number": 5,
}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        *((Loose, {name: value}) for name, value in VALUES.items()),
        *((Loose, values) for values in (VALUES, {})),
        *(
            (kind, values)
            for kind in (_Setting, _Adding, _Marking, _Making)
            for values in (
                *({}, {"k": 1}, {"x": 2}, {"k": 1, "c": "stored"}),
                {"added": "stored", "k": None},
            )
        ),
    ],
)
def test_models_of_entities(kind: Any, values: dict[str, Any]) -> None:
    """A model has dynamic values, and the constructor's values that its entity lacks."""
    raw = entity_of(kind._get_kind(), values)

    def read_and_written(made: Any) -> Any:
        return (
            *(type(made), type(made._values), _dynamic(made), vars(made).get("mark")),
            *(list(made._values), describe(made), written(made)),
        )

    with CLIENT.context():
        # In the order of stock's own messages.
        expected = read_and_written(model._entity_from_ds_entity(stock_entity(raw)))
        lazyentity.patch(eager=True)
        # The second time, what is known of the class and the names is used again.
        for _ in range(3):
            learn_names(LazyEntity, raw)
            made = model._entity_from_protobuf(received(raw))
            assert read_and_written(made) == expected
