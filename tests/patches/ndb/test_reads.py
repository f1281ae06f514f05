"""Reads by key give stock ndb's results from every caller, and decode only what is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb

import lazyentity
from tests.patches.models.pairs import undecoded
from tests.patches.ndb import stored
from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import (
    ALL,
    COUNT,
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


# A profile counts a property when the attribute of a model is read.


@pytest.mark.parametrize(("kind", "count"), [(Item, COUNT), (Dotted, 2)])
def test_whole_models(loopback_sides: Sides, kind: Any, count: int) -> None:
    """``to_dict()`` of a model reads attribute by attribute, at the line that calls it."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in kind.query().fetch():
            found.to_dict()
    report, name = profile.report(), kind.__name__
    assert [each.kind for each in report.kinds] == [name], "models in models are no entities"
    # A computed property reads others, in the file of its model.
    files = {line.site.file for line in report.decoded if line.kind == name}
    assert files in ({__file__}, {__file__, stored.__file__})
    decoded = report.kinds[0].properties_decoded
    assert sum(line.times for line in report.decoded) == decoded >= count
    assert not report.advice


def test_parts_of_structured_properties(loopback_sides: Sides) -> None:
    """A structured property counts as the parts that the entity has."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in Dotted.query().fetch():
            found.address  # noqa: B018  # reads
    (kind,) = profile.report().kinds
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"address.street": 2, "address.c": 2}
