"""patch("ndb", eager=True): models as ndb makes them, of entities that are decoded faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import model
from google.cloud.ndb.global_cache import _InProcessGlobalCache
from hypothesis import given
from hypothesis import strategies as st

import lazyentity
from lazyentity import LazyEntity
from tests.patches.models.pairs import FEWER
from tests.patches.models.shapes import Stored
from tests.patches.ndb.describing import storages
from tests.patches.ndb.model_snapshots import describe
from tests.patches.ndb.pairs import patched, received, seen, stock_model
from tests.patches.ndb.raw_entities import changed_entities, stored_entities
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Dotted, Hooked, Item, Loose, Residence, Shape
from tests.support.snapshots import Raised
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
def test_dynamic_properties(loopback_sides: Sides, is_patched: bool) -> None:
    """Properties of an Expando have what stock ndb's have, and no two models share one."""

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


@pytest.mark.usefixtures("modern_context")
@FEWER
@given(stored=st.one_of(stored_entities(), changed_entities()))
def test_models_of_generated_entities(stored: Stored) -> None:
    """They are stock ndb's throughout, or fail with an error of the same class."""
    expected = seen(lambda: stock_model(stored.raw))
    learn_names(LazyEntity, stored.raw)
    with patched(), lazyentity.eager():
        found = seen(lambda: model._entity_from_protobuf(received(stored.raw)))
    if isinstance(expected, Raised):
        # Its text may have embedded entities, the order of which stock leaves to chance.
        assert isinstance(found, Raised)
        assert found.kind is expected.kind
    else:
        assert found == expected
