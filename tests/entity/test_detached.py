"""detach(): entities that hold what was read, and are not written by mistake."""

from __future__ import annotations

import gc
import json
import pickle
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity
from lazyentity.strict import make_strict
from tests.entity.consumption import COPIES
from tests.entity.snapshots import snapshot
from tests.entity.stock import comparable, encoded, reparsed, stock_entity
from tests.strategies.samples import PLAIN, RICH, plain_properties, serialise


def detach_one(entity: Any, **options: Any) -> Any:
    (detached,) = lazyentity.detach([entity], **options)
    return detached


def read_some(lazy_type: type[LazyEntity], raw: bytes = PLAIN, *names: str) -> Any:
    entity = lazy_type.from_bytes(raw)
    lazyentity.prefetch(entity, *names)
    return entity


def part_of_stock(raw: bytes, *names: str) -> Any:
    """Return the stock entity without all properties but ``names``."""
    stock = stock_entity(raw)
    for name in stock.keys() - set(names):
        del stock[name]
        stock.exclude_from_indexes.discard(name)
        stock._meanings.pop(name, None)
    return stock


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


# What is in it.


def test_has_what_was_read(lazy_type: type[LazyEntity]) -> None:
    """Decoded and assigned properties, with the very values, and no trace of the others."""
    entity = read_some(lazy_type, RICH, "who", "when")
    entity["new"] = new = object()
    detached = detach_one(entity)
    assert list(detached) == [name for name in entity if name in ("who", "when", "new")]
    assert len(detached) == 3
    assert "text" not in detached
    assert detached.get("text", 1) == 1
    with pytest.raises(KeyError, match="text"):
        detached["text"]
    for name in detached:
        assert detached[name] is entity[name]
    assert detached["new"] is new
    assert lazyentity.decoded(detached) == tuple(detached)
    assert detached.key == entity.key
    assert dict(detached) == {name: entity[name] for name in ("who", "when", "new")}


def test_is_an_entity(lazy_type: type[LazyEntity]) -> None:
    detached = detach_one(read_some(lazy_type, PLAIN, "text"))
    assert isinstance(detached, Entity)
    assert isinstance(detached, lazy_type)


def test_gives_a_list_in_order(lazy_type: type[LazyEntity]) -> None:
    entities = [read_some(lazy_type, PLAIN, name) for name in ("text", "ratio", "yes")]
    for given in (entities, tuple(entities), iter(entities), (one for one in entities)):
        detached = lazyentity.detach(given)
        assert type(detached) is list
        assert [list(one) for one in detached] == [["text"], ["ratio"], ["yes"]]
    assert lazyentity.detach([]) == []


def test_originals_stay_as_they_were(lazy_type: type[LazyEntity]) -> None:
    entity = read_some(lazy_type, RICH, "inner", "inners", "who")
    entity["inner"]["deep"]
    before = lazyentity.decoded(entity)
    values = [entity[name] for name in before]
    detached = detach_one(entity)
    detached["inner"]["deep"].append("more")
    detached["inners"].clear()
    detached.exclude_from_indexes.clear()
    detached["who"] = None
    assert lazyentity.decoded(entity) == before
    assert all(entity[name] is value for name, value in zip(before, values, strict=True))
    assert lazyentity.decoded(entity["inners"][0]) == ()
    assert snapshot(entity) == snapshot(stock_entity(RICH))
    assert reparsed(lazyentity.raw(lazy_type.from_bytes(RICH))) == reparsed(RICH)


def test_deleted_properties_stay_deleted(lazy_type: type[LazyEntity]) -> None:
    entity = read_some(lazy_type, PLAIN, "text", "ratio")
    del entity["text"]
    assert list(detach_one(entity)) == ["ratio"]


def test_changed_attributes_go_along(lazy_type: type[LazyEntity]) -> None:
    entity = read_some(lazy_type, PLAIN, "number")
    entity.key = Key("Other", 1, project="p")
    entity.exclude_from_indexes |= {"number", "ratio", "later"}
    entity.remark = "kept"
    detached = detach_one(entity)
    assert detached.key is entity.key
    assert detached.exclude_from_indexes == {"number", "later"}
    assert detached.remark == "kept"


def test_embedded_entities_are_whole(lazy_type: type[LazyEntity]) -> None:
    """Read or not, changed or not: the property was read, and it is all of this."""
    entity = read_some(lazy_type, RICH, "inner", "inners")
    entity["inners"][1]["new"] = True
    entity["inners"][1]["deep"].append(3)
    del entity["inner"]["deep"]
    detached = detach_one(entity)
    assert type(detached["inner"]) is lazy_type
    assert snapshot(detached["inner"]) == snapshot(entity["inner"])
    assert lazyentity.decoded(detached["inners"][0]) == ()
    assert snapshot(detached["inners"]) == snapshot(entity["inners"])


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


def test_of_a_strict_entity(lazy_type: type[LazyEntity]) -> None:
    """What it does not have is missing, not refused."""
    entity = read_some(lazy_type, PLAIN, "text")
    make_strict(entity)
    detached = detach_one(entity)
    assert dict(detached.items()) == {"text": plain_properties()["text"]}
    assert detached.get("ratio") is None
    assert repr(detached) == repr(part_of_stock(PLAIN, "text"))


def test_stock_entities_are_returned_as_they_are() -> None:
    stock = stock_entity(PLAIN)
    assert lazyentity.detach([stock])[0] is stock


def test_an_unreadable_key_stays_unreadable(lazy_type: type[LazyEntity]) -> None:
    """It is an error where the key is asked for, as of any lazy entity; a refusal goes before."""
    malformed = b"\x0a\x01\xff" + serialise({"text": 1, "more": 2})[len(serialise({})) :]
    detached = detach_one(read_some(lazy_type, malformed, "text"))
    assert detached["text"] == 1
    with pytest.raises(Exception, match="could not be decoded"):
        detached.key  # noqa: B018  # decodes
    with pytest.raises(RuntimeError, match="whose key cannot be read was detached"):
        lazyentity.raw(detached)


# What it keeps alive.


def held_by(make: Callable[[], list[Any]]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        made = make()
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        assert made
        return after - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("partial", [False, True])
def test_memory(lazy_type: type[LazyEntity], partial: bool) -> None:
    """Entities of 100 properties with 2 read take less than a third when they are detached."""
    raw = serialise({f"property {number}": f"value {number}" * 3 for number in range(100)})

    def entities() -> list[Any]:
        made = [lazy_type.from_bytes(bytes(bytearray(raw))) for _ in range(200)]
        for entity in made:
            lazyentity.prefetch(entity, "property 3", "property 70")
        return made

    # What the first ones leave in caches.
    lazyentity.detach(entities())
    lazy = held_by(entities)
    detached = held_by(lambda: lazyentity.detach(entities(), partial=partial))
    assert detached < lazy / 3


def test_memory_with_embedded_entities(lazy_type: type[LazyEntity]) -> None:
    """An embedded entity that is kept does not keep the bytes around it."""
    inner = Entity()
    inner["deep"] = "value"
    properties = {"inner": inner, "inners": [inner], "ballast": "x" * 10_000}
    raw = serialise(properties)

    def entities() -> list[Any]:
        made = [lazy_type.from_bytes(bytes(bytearray(raw))) for _ in range(200)]
        for entity in made:
            lazyentity.prefetch(entity, "inner", "inners")
        return made

    def embedded() -> list[Any]:
        return lazyentity.detach([entity["inner"] for entity in entities()])

    lazyentity.detach(entities())
    lazy = held_by(entities)
    assert held_by(lambda: lazyentity.detach(entities())) < lazy / 3
    assert held_by(embedded) < lazy / 3


def test_the_original_is_not_referred_to(lazy_type: type[LazyEntity]) -> None:
    """Neither the entity nor its bytes."""

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


# Writing.


def test_writing_is_refused(lazy_type: type[LazyEntity], write: Any) -> None:
    """The error names the key and the way out."""
    detached = detach_one(read_some(lazy_type, PLAIN, "text"))
    with pytest.raises(RuntimeError, match=r"detach\(entities, partial=True\)") as refused:
        write(detached)
    assert f"the entity {detached.key!r} was detached" in str(refused.value)
    assert not isinstance(refused.value, ValueError)


def test_writing_nothing_is_refused(lazy_type: type[LazyEntity], write: Any) -> None:
    """Of which nothing was read would delete everything."""
    with pytest.raises(RuntimeError, match="was detached"):
        write(detach_one(lazy_type.from_bytes(PLAIN)))


def test_writing_a_changed_one_is_refused(lazy_type: type[LazyEntity], write: Any) -> None:
    detached = detach_one(read_some(lazy_type, PLAIN, "text"))
    detached.update(plain_properties())
    detached.key = Key("Other", 1, project="p")
    with pytest.raises(RuntimeError, match="'Other', 1"):
        write(detached)


def test_partial_ones_are_written(lazy_type: type[LazyEntity]) -> None:
    """As what they are: with the meanings and flags of what they have."""
    for names in ((), ("text",), ("text", "number", "list"), tuple(plain_properties())):
        stock = part_of_stock(PLAIN, *names)
        detached = detach_one(read_some(lazy_type, PLAIN, *names), partial=True)
        assert type(detached) is lazy_type
        assert detached == stock
        assert reparsed(lazyentity.raw(detached)) == encoded(stock)
        assert comparable(helpers.entity_to_protobuf(detached)._pb) == encoded(stock)


def test_whole_ones_are_written(lazy_type: type[LazyEntity]) -> None:
    """What was deleted or assigned was the caller's own choice."""
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
    """A part stays a part, unless it is asked for as such."""
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
    """They are written with the values that they came with, as stock writes them."""
    raw = serialise(MEANT, meanings=MEANINGS)
    entity, stock = read_some(lazy_type, raw), part_of_stock(raw, "list", "number", "other")
    for one in (entity, stock):
        for name in ("list", "number", "other"):
            one[name]
        change(one)
    kept = detach_one(entity, partial=True)
    # Whoever looks at the meanings reads what has one.
    kept.pop("unread", None)
    assert reparsed(lazyentity.raw(kept)) == encoded(stock)
    assert comparable(helpers.entity_to_protobuf(kept)._pb) == encoded(stock)


# Everything else.


def test_compares_like_any_entity(lazy_type: type[LazyEntity]) -> None:
    names = ("text", "number")
    detached = detach_one(read_some(lazy_type, PLAIN, *names))
    stock = part_of_stock(PLAIN, *names)
    others = [stock, detach_one(read_some(lazy_type, PLAIN, *names)), lazy_type.from_bytes(PLAIN)]
    for name in set(others[2]) - set(names):
        del others[2][name]
    for other in others[:2]:
        assert detached == other
        assert other == detached
        assert (detached != other) is False
    assert dict(others[2]) == dict(detached)
    assert detached != stock_entity(PLAIN)
    assert stock_entity(PLAIN) != detached
    assert detached != lazy_type.from_bytes(PLAIN)


def test_reads_like_any_entity(lazy_type: type[LazyEntity]) -> None:
    names = ("text", "number", "list")
    detached = detach_one(read_some(lazy_type, PLAIN, *names))
    stock = part_of_stock(PLAIN, *names)
    ordered = {name: stock[name] for name in detached}
    assert json.dumps(detached) == json.dumps(ordered)
    assert detached.copy() == {**detached} == (detached | {}) == dict(detached.items()) == ordered
    assert list(detached.values()) == list(ordered.values())
    assert repr(detached) == f"<Entity('Kind', 'name') {ordered}>"
    assert snapshot(detached) == snapshot(stock)
    assert dict(dict.items(detached)) == ordered


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


# Arguments.


@pytest.mark.parametrize("make", [lambda: stock_entity(PLAIN), lambda: LazyEntity()])
def test_one_entity_is_refused(make: Callable[[], Any]) -> None:
    """An entity is an iterable, of names: the error says what to do."""
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
