"""detach(): entities that hold the properties that were read, and nothing else."""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity
from lazyentity.strict import make_strict
from tests.entity.detaching import detach_one, part_of_stock, read_some
from tests.support.snapshots import snapshot
from tests.support.stock import encoded, reparsed, stock_entity
from tests.support.strategies.samples import PLAIN, RICH, plain_properties, serialise


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
    """A property that was not read is missing, not refused."""
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
    """Reading the key raises, as for any lazy entity; a refusal to write comes first."""
    malformed = b"\x0a\x01\xff" + serialise({"text": 1, "more": 2})[len(serialise({})) :]
    detached = detach_one(read_some(lazy_type, malformed, "text"))
    assert detached["text"] == 1
    with pytest.raises(Exception, match="could not be decoded"):
        detached.key  # noqa: B018  # decodes
    with pytest.raises(RuntimeError, match="whose key cannot be read was detached"):
        lazyentity.raw(detached)


# References and memory.


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


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("partial", [False, True])
def test_memory(lazy_type: type[LazyEntity], partial: bool) -> None:
    """Entities of 100 properties with 2 read take less than a third when they are detached."""
    raw = serialise({f"property {number}": f"value {number}" * 3 for number in range(100)})

    def entities() -> list[Any]:
        made = [lazy_type.from_bytes(bytes(bytearray(raw))) for _ in range(200)]
        for entity in made:
            lazyentity.prefetch(entity, "property 3", "property 70")
        return made

    # The first entities fill caches.
    lazyentity.detach(entities())
    lazy = held_by(entities)
    detached = held_by(lambda: lazyentity.detach(entities(), partial=partial))
    assert detached < lazy / 3


@pytest.mark.usefixtures("only_new_objects")
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


# Arguments.


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
