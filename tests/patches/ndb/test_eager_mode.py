"""patch("ndb", eager=True): models as ndb makes them, of entities that are decoded faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb.global_cache import _InProcessGlobalCache

import lazyentity
from tests.patches.ndb.describing import attempt, storages
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Dotted, Hooked, Item, Loose, Residence, Shape

KINDS = [Item, Dotted, Loose, Shape, Hooked]


def _order(found: Any) -> list[Any]:
    """Names in the order that models have them, which for an Expando is that of the entity."""
    return [[list(one._values), list(one._properties)] for one in found if one is not None]


READS: dict[str, Callable[[], Any]] = {
    "get": lambda: [ndb.Key(kind, 1).get() for kind in KINDS],
    "get_multi": lambda: ndb.get_multi([ndb.Key(kind, one) for kind in KINDS for one in (1, 1000)]),
    "fetch": lambda: Item.query().order(Item.number).fetch(),
    "in batches": lambda: list(Item.query().order(Item.number).iter()),
    "embedded": lambda: Item.query(Item.address == Residence(street="Street 1", city="c")).fetch(),
    "projection": lambda: Item.query().order(Item.number).fetch(projection=[Item.number]),
    "in a transaction": lambda: ndb.transaction(lambda: [ndb.Key(Loose, 1).get()]),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("names", [(), ("ndb",)], ids=["all", "ndb alone"])
def test_reads(loopback_sides: Sides, read: Callable[[], Any], names: tuple[str, ...]) -> None:
    """Models, and the order of their properties, are stock ndb's."""
    sides = loopback_sides

    def run() -> Any:
        with sides.context():
            found = read()
            assert storages(found) <= {"dict"}
            return attempt(lambda: found), _order(found)

    stock = run()
    lazyentity.patch(*names, eager=True)
    try:
        assert run() == stock
    finally:
        lazyentity.unpatch()


def test_the_mode_can_be_changed(loopback_sides: Sides) -> None:
    """The mode of ndb changes with the next conversion, independent of the other client's."""
    sides = loopback_sides
    try:
        for eager, expected in ((True, "dict"), (False, "LazyValues"), (True, "dict")):
            lazyentity.patch("datastore", eager=not eager)
            lazyentity.patch("ndb", eager=eager)
            with sides.context(cache_policy=False):
                assert storages(ndb.Key(Item, 1).get()) == {expected}
                assert storages(Item.query().fetch(1)) == {expected}
    finally:
        lazyentity.unpatch()


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
    try:
        rewrite()
    finally:
        lazyentity.unpatch()
    assert stored() == expected
