"""Detached entities, and copies of them, are not written by mistake."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity
from tests.entity.consumption import COPIES
from tests.entity.detaching import detach_one, part_of_stock, read_some
from tests.support.snapshots import snapshot
from tests.support.stock import comparable, encoded, reparsed, stock_entity
from tests.support.strategies.samples import PLAIN, RICH, plain_properties, serialise

WRITES: dict[str, Callable[[Any], Any]] = {
    "raw": lazyentity.raw,
    "the client's encoder": helpers.entity_to_protobuf,
    "embedded": lambda e: lazyentity.raw(_holding(e)),
    "in a list": lambda e: lazyentity.raw(_holding([e])),
}


def _holding(value: Any) -> Entity:
    holder = Entity()
    holder["value"] = value
    return holder


@pytest.fixture(params=list(WRITES))
def write(request: pytest.FixtureRequest) -> Any:
    return WRITES[request.param]


def test_writing_is_refused(lazy_type: type[LazyEntity], write: Any) -> None:
    """The error names the key and the way out."""
    detached = detach_one(read_some(lazy_type, PLAIN, "text"))
    with pytest.raises(RuntimeError, match=r"detach\(entities, partial=True\)") as refused:
        write(detached)
    assert f"the entity {detached.key!r} was detached" in str(refused.value)
    assert not isinstance(refused.value, ValueError)


def test_writing_nothing_is_refused(lazy_type: type[LazyEntity], write: Any) -> None:
    """Writing one without any read property would delete everything."""
    with pytest.raises(RuntimeError, match="was detached"):
        write(detach_one(lazy_type.from_bytes(PLAIN)))


def test_writing_a_changed_one_is_refused(lazy_type: type[LazyEntity], write: Any) -> None:
    detached = detach_one(read_some(lazy_type, PLAIN, "text"))
    detached.update(plain_properties())
    detached.key = Key("Other", 1, project="p")
    with pytest.raises(RuntimeError, match="'Other', 1"):
        write(detached)


def test_partial_ones_are_written(lazy_type: type[LazyEntity]) -> None:
    """With the properties that they have, and the meanings and flags of these."""
    for names in ((), ("text",), ("text", "number", "list"), tuple(plain_properties())):
        stock = part_of_stock(PLAIN, *names)
        detached = detach_one(read_some(lazy_type, PLAIN, *names), partial=True)
        assert type(detached) is lazy_type
        assert detached == stock
        assert reparsed(lazyentity.raw(detached)) == encoded(stock)
        assert comparable(helpers.entity_to_protobuf(detached)._pb) == encoded(stock)


def test_whole_ones_are_written(lazy_type: type[LazyEntity]) -> None:
    """All properties were read, deleted or assigned: nothing would be lost."""
    entity, stock = read_some(lazy_type, PLAIN), stock_entity(PLAIN)
    for one in (entity, stock):
        for name in ("text", "number", "list", "inner"):
            one[name]
        del one["ratio"], one["yes"]
        one.update(nothing=1, empty=2, new=3)
    detached = detach_one(entity)
    assert type(detached) is lazy_type
    assert comparable(helpers.entity_to_protobuf(detached)._pb) == encoded(stock)
    assert reparsed(lazyentity.raw(detached)) == encoded(stock)


def test_empty_ones_are_whole(lazy_type: type[LazyEntity]) -> None:
    detached = detach_one(lazy_type.from_bytes(serialise({})))
    assert type(detached) is lazy_type
    assert lazyentity.raw(detached) == serialise({})


def test_detaching_again(lazy_type: type[LazyEntity]) -> None:
    """A detached copy of a detached entity stays refused, unless it is made with partial=True."""
    detached = detach_one(read_some(lazy_type, PLAIN, "text", "number"))
    with pytest.raises(RuntimeError, match="was detached"):
        lazyentity.raw(detach_one(detached))
    partial = detach_one(detached, partial=True)
    assert reparsed(lazyentity.raw(partial)) == encoded(part_of_stock(PLAIN, "text", "number"))
    with pytest.raises(RuntimeError, match="was detached"):
        lazyentity.raw(detached)
    assert type(detach_one(partial)) is lazy_type


MEANT = {"list": [1, 2], "number": 5, "other": 6, "unread": 7}
MEANINGS = {"list": (9, [None, 15]), "other": 10, "unread": 11}


@pytest.mark.parametrize(
    "change",
    [
        lambda e: None,
        lambda e: e["list"].append(3),
        lambda e: e.update(list=list(e["list"])),
        lambda e: e._meanings.pop("list"),
        lambda e: e._meanings.update(number=(15, e["number"])),
        lambda e: e.exclude_from_indexes.add("list"),
    ],
    ids=["nothing", "in place", "replaced", "removed", "added", "flag"],
)
def test_meanings(lazy_type: type[LazyEntity], change: Callable[[Any], object]) -> None:
    """They are written with the received values, as stock writes them."""
    raw = serialise(MEANT, meanings=MEANINGS)
    entity, stock = read_some(lazy_type, raw), part_of_stock(raw, "list", "number", "other")
    for one in (entity, stock):
        for name in ("list", "number", "other"):
            one[name]
        change(one)
    kept = detach_one(entity, partial=True)
    # Reading the meanings decodes the properties that have one.
    kept.pop("unread", None)
    assert reparsed(lazyentity.raw(kept)) == encoded(stock)
    assert comparable(helpers.entity_to_protobuf(kept)._pb) == encoded(stock)


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES.keys())
def test_copies_are_refused_as_well(
    lazy_type: type[LazyEntity], duplicate: Callable[[Any], Any], write: Any
) -> None:
    detached = detach_one(read_some(lazy_type, RICH, "inner", "text"))
    made = duplicate(detached)
    assert isinstance(made, lazyentity.LazyEntity)
    assert snapshot(made) == snapshot(detached)
    assert made._meanings["text"][1] is made["text"]
    for one in (made, duplicate(made)):
        with pytest.raises(RuntimeError, match=r"'name'.* was detached"):
            write(one)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_refused_as_well(lazy_type: type[LazyEntity], protocol: int) -> None:
    detached = detach_one(read_some(lazy_type, PLAIN, "text", "number"))
    loaded = pickle.loads(pickle.dumps(detached, protocol))
    assert snapshot(loaded) == snapshot(detached)
    with pytest.raises(RuntimeError, match="was detached"):
        helpers.entity_to_protobuf(loaded)


def test_partial_ones_are_copied_as_stock_entities(lazy_type: type[LazyEntity]) -> None:
    detached = detach_one(read_some(lazy_type, PLAIN, "text"), partial=True)
    for duplicate in COPIES.values():
        assert type(duplicate(detached)) is Entity


def test_materialized_ones_are_refused_as_well(lazy_type: type[LazyEntity], write: Any) -> None:
    """Plain inside, and no more to be written than before; wherever it is."""
    detached = detach_one(read_some(lazy_type, RICH, "inner", "inners"))
    for made in (
        lazyentity.materialize(detached),
        lazyentity.materialize(lazyentity.materialize(detached)),
        _materialized_inside(lazy_type, detached),
    ):
        assert type(made["inner"]) is Entity
        assert [type(inner) for inner in made["inners"]] == [Entity, Entity]
        assert snapshot(made) == snapshot(detached)
        with pytest.raises(RuntimeError, match="was detached"):
            write(made)


def _materialized_inside(lazy_type: type[LazyEntity], value: Any) -> Any:
    holder = lazy_type.from_bytes(b"")
    holder["value"] = [value]
    return lazyentity.materialize(holder)["value"][0]
