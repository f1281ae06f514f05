"""detach(): entities that hold the properties that were read, and nothing else."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from hypothesis import given

import lazyentity
from lazyentity import LazyEntity
from tests.entity.consumption import COPIES, PICKLES, holding
from tests.entity.test_plain import DRAWN, VALID, change
from tests.support.snapshots import outcome, snapshot
from tests.support.stock import encoded, reparsed, stock_entity
from tests.support.strategies.samples import PLAIN, RICH, plain_properties, serialise


def detach_one(entity: Any, **options: Any) -> Any:
    (detached,) = lazyentity.detach([entity], **options)
    return detached


def read_some(lazy_type: type[LazyEntity], raw: bytes = PLAIN, *names: str) -> Any:
    entity = lazy_type.from_bytes(raw)
    lazyentity.prefetch(entity, *names)
    return entity


def part_of(stock: Any, *names: str) -> Any:
    """Take all but ``names`` out of a stock entity, and the meanings of other values."""
    for name in stock.keys() - set(names):
        del stock[name]
        stock.exclude_from_indexes.discard(name)
    for name, (_, original) in list(stock._meanings.items()):
        if name not in stock or stock[name] is not original:
            del stock._meanings[name]
    return stock


@given(raw=VALID, changes=DRAWN)
def test_has_what_was_read(
    lazy_type: type[LazyEntity], raw: bytes, changes: list[tuple[str, int]]
) -> None:
    """Decoded and assigned properties in their order, embedded entities whole; nothing else."""
    for options in ({}, {"partial": True}):
        lazy, stock, part = lazy_type.from_bytes(raw), stock_entity(raw), stock_entity(raw)
        for entity in (lazy, stock, part):
            change(entity, changes)
        names = lazyentity.decoded(lazy)
        detached = detach_one(lazy, **options)
        assert isinstance(detached, lazy_type)
        assert tuple(detached) == lazyentity.decoded(detached) == names
        for name, value in dict(detached).items():
            assert value is lazy[name] or isinstance(value, (dict, list))
        for entity in (detached, part_of(part, *names)):
            entity.exclude_from_indexes &= set(names)
        assert snapshot(detached) == snapshot(part)
        if options:
            assert outcome(encoded, detached) == outcome(encoded, part)
            assert all(type(copied(detached)) is Entity for copied in COPIES.values())
        assert snapshot(lazy) == snapshot(stock)


def test_attributes_go_along(lazy_type: type[LazyEntity]) -> None:
    """Without the flags of properties that do not, whose names are missing."""
    entity = read_some(lazy_type, PLAIN, "number")
    entity.key = Key("Other", 1, project="p")
    entity.exclude_from_indexes |= {"number", "ratio", "later"}
    entity.remark = "kept"
    detached = detach_one(entity)
    assert (detached.key is entity.key, detached.remark) == (True, "kept")
    assert detached.exclude_from_indexes == {"number", "later"}
    assert (len(detached), "text" in detached, detached.get("text", 1)) == (1, False, 1)
    with pytest.raises(KeyError, match="text"):
        detached["text"]


def test_containers_are_new(lazy_type: type[LazyEntity]) -> None:
    """Changes of a detached entity leave the original as it was."""
    entity = read_some(lazy_type, RICH, "inner", "inners", "who")
    detached = detach_one(entity)
    assert set(lazyentity.decoded(entity)) == {"inner", "inners", "who"}
    detached["inner"]["deep"].append("more")
    assert lazyentity.decoded(detached["inners"].pop(0)) == ()
    detached.exclude_from_indexes.clear()
    detached["who"] = None
    assert lazyentity.decoded(entity["inners"][0]) == ()
    assert snapshot(entity) == snapshot(stock_entity(RICH))


def test_entities_that_were_assigned(lazy_type: type[LazyEntity]) -> None:
    """In stock entities, lists and dicts as well, nothing refers to the original's bytes."""
    entity = read_some(lazy_type, RICH)
    holder = stock_entity(PLAIN)
    holder["inner"] = entity["inner"]
    entity["held"] = [{"holder": holder}]
    detached = detach_one(entity)
    held = detached["held"][0]["holder"]
    assert snapshot(held) == snapshot(holder)
    assert held["inner"] is not entity["inner"]
    assert held._meanings["number"] == (9, 42)
    assert encoded(held) == encoded(holder)


def test_stock_entities_are_returned_as_they_are() -> None:
    stock = stock_entity(PLAIN)
    assert lazyentity.detach([stock])[0] is stock


@pytest.mark.needs_native("the pure one parses an entity as a whole")
def test_an_unreadable_key_stays_unreadable(lazy_type: type[LazyEntity]) -> None:
    """Reading the key raises, as for any lazy entity; a refusal to write comes first."""
    malformed = b"\x0a\x01\xff" + serialise({"text": 1, "more": 2})[len(serialise({})) :]
    detached = detach_one(read_some(lazy_type, malformed, "text"))
    assert detached["text"] == 1
    with pytest.raises(Exception, match="could not be decoded"):
        detached.key  # noqa: B018  # decodes
    with pytest.raises(RuntimeError, match="whose key cannot be read was detached"):
        lazyentity.raw(detached)


@pytest.mark.usefixtures("only_new_objects")
def test_the_original_is_not_referred_to(lazy_type: type[LazyEntity]) -> None:
    """A detached entity keeps neither the original nor its bytes."""

    class Tracked(lazy_type):  # type: ignore[misc, valid-type]  # a base known at run time only
        pass

    raw = bytes(bytearray(RICH))
    references = sys.getrefcount(raw)
    entity = read_some(Tracked, raw, "inner", "text")
    reference = weakref.ref(entity)
    detached = detach_one(entity)
    del entity
    gc.collect()
    assert reference() is None
    assert sys.getrefcount(raw) == references
    assert set(detached) == {"inner", "text"}


@pytest.mark.parametrize("make", [lambda: stock_entity(PLAIN), lambda: LazyEntity()])
def test_one_entity_is_refused(make: Callable[[], Any]) -> None:
    """An entity is an iterable, of names: the error says to pass a list."""
    with pytest.raises(TypeError, match=r"not one: detach\(\[entity\]\)"):
        lazyentity.detach(make())


@pytest.mark.parametrize(
    ("given", "named"),
    [(None, "NoneType"), (1, "int"), ([None], "NoneType"), (["name"], "str"), ([{}], "dict")],
)
def test_anything_else_is_refused(given: Any, named: str) -> None:
    with pytest.raises(TypeError, match=r"^detach\(\) takes .*, not ") as refused:
        lazyentity.detach(given)
    assert str(refused.value).endswith(named)


WRITES: dict[str, Callable[[Any], Any]] = {
    "raw": lazyentity.raw,
    "the client's encoder": helpers.entity_to_protobuf,
    "embedded": lambda e: lazyentity.raw(holding(e)),
    "in a list": lambda e: lazyentity.raw(holding([e])),
}


@pytest.fixture(params=list(WRITES))
def write(request: pytest.FixtureRequest) -> Any:
    return WRITES[request.param]


def test_writing_is_refused(lazy_type: type[LazyEntity], write: Any) -> None:
    """The error names the key and the way out; also of a changed one, or if nothing was read."""
    detached = detach_one(read_some(lazy_type, PLAIN, "text"))
    changed = detach_one(detached)
    changed.update(plain_properties())
    changed.key = Key("Other", 1, project="p")
    for entity in (detached, changed, detach_one(lazy_type.from_bytes(PLAIN))):
        with pytest.raises(RuntimeError, match=r"detach\(entities, partial=True\)") as refused:
            write(entity)
        assert f"the entity {entity.key!r} was detached" in str(refused.value)
        assert not isinstance(refused.value, ValueError)


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
    assert encoded(detached) == encoded(stock)
    assert reparsed(lazyentity.raw(detached)) == encoded(stock)
    empty = detach_one(lazy_type.from_bytes(serialise({})))
    assert type(empty) is lazy_type
    assert lazyentity.raw(empty) == serialise({})


def test_detaching_again(lazy_type: type[LazyEntity]) -> None:
    """A detached copy of a detached entity stays refused, unless it is made with partial=True."""
    detached = detach_one(read_some(lazy_type, PLAIN, "text", "number"))
    with pytest.raises(RuntimeError, match="was detached"):
        lazyentity.raw(detach_one(detached))
    partial = detach_one(detached, partial=True)
    assert reparsed(lazyentity.raw(partial)) == encoded(
        part_of(stock_entity(PLAIN), "text", "number")
    )
    with pytest.raises(RuntimeError, match="was detached"):
        lazyentity.raw(detached)
    assert type(detach_one(partial)) is lazy_type


DUPLICATES = {**COPIES, **PICKLES}


@pytest.mark.parametrize("duplicate", DUPLICATES.values(), ids=DUPLICATES.keys())
def test_copies_are_refused_as_well(
    lazy_type: type[LazyEntity], duplicate: Callable[[Any], Any], write: Any
) -> None:
    for raw, names in ((RICH, ("inner", "text")), (PLAIN, ("text", "number"))):
        detached = detach_one(read_some(lazy_type, raw, *names))
        made = duplicate(detached)
        assert isinstance(made, lazyentity.LazyEntity)
        assert snapshot(made) == snapshot(detached)
        assert all(meant is made[name] for name, (_, meant) in made._meanings.items())
        for one in (made, duplicate(made)):
            with pytest.raises(RuntimeError, match=r"'name'.* was detached"):
                write(one)


def test_materialized_ones_are_refused_as_well(lazy_type: type[LazyEntity], write: Any) -> None:
    """Plain inside, and no more to be written than before; wherever it is."""
    detached = detach_one(read_some(lazy_type, RICH, "inner", "inners"))
    for made in (
        lazyentity.materialize(detached),
        lazyentity.materialize(lazyentity.materialize(detached)),
    ):
        assert type(made["inner"]) is Entity
        assert [type(inner) for inner in made["inners"]] == [Entity, Entity]
        assert snapshot(made) == snapshot(detached)
        with pytest.raises(RuntimeError, match="was detached"):
            write(made)
