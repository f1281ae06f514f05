"""Threads that read the same entities, collections in the middle of a read, and cycles."""

from __future__ import annotations

import gc
import itertools
import random
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import lazyentity
from lazyentity import LazyEntity
from tests.support.concurrency import together
from tests.support.snapshots import snapshot
from tests.support.stock import stock_entity
from tests.support.strategies.samples import PLAIN, RICH, serialise

THREADS = 32
ROUNDS = 12

MANY = serialise(
    {f"p{number}": [number, {"inner": str(number)}] for number in range(40)},
    meanings={"p1": (9, [14, None]), "p20": (None, [9, None])},
)

READS: list[Callable[[Any, str], Any]] = [
    lambda entity, name: entity[name],
    lambda entity, name: entity.get(name),
    lambda entity, name: entity.setdefault(name),
    lambda entity, name: dict(entity.items())[name],
    lambda entity, name: entity.copy()[name],
    lambda entity, name: dict(entity)[name],
    lambda entity, name: (entity | {})[name],
    lambda entity, name: dict(zip(entity, entity.values(), strict=True))[name],
]


pytestmark = pytest.mark.usefixtures("frequent_switches")


def _same_objects(results: list[dict[Any, Any]]) -> bool:
    first = results[0]
    return all(
        result.keys() == first.keys() and all(result[place] is first[place] for place in first)
        for result in results
    )


def test_one_object_per_property(lazy_type: type[LazyEntity]) -> None:
    """All threads get the same object of a property, by any operation and in any order."""
    for turn in range(ROUNDS):
        entities = [lazy_type.from_bytes(raw) for raw in (PLAIN, RICH, MANY)]

        def read_all(number: int, entities: list[LazyEntity] = entities, turn: int = turn) -> Any:
            shuffled = random.Random(f"{turn} {number}")
            places = [(which, name) for which, e in enumerate(entities) for name in e]
            shuffled.shuffle(places)
            read = READS[number % len(READS)]
            return {(which, name): read(entities[which], name) for which, name in places}

        assert _same_objects(together(THREADS, read_all))
        for entity, raw in zip(entities, (PLAIN, RICH, MANY), strict=True):
            assert snapshot(entity) == snapshot(stock_entity(raw))


def test_one_object_per_attribute(lazy_type: type[LazyEntity]) -> None:
    """Key, flags and meanings are decoded once for everybody, and meanings hold the values read."""
    orders = list(itertools.permutations(["key", "exclude_from_indexes", "_meanings", "p1"]))
    for _ in range(ROUNDS):
        entity = lazy_type.from_bytes(MANY)

        def read_all(number: int, entity: Any = entity) -> Any:
            return {
                name: entity[name] if name == "p1" else getattr(entity, name)
                for name in orders[number % len(orders)]
            } | {"leaf": entity["p1"][1]["inner"]}

        results = together(THREADS, read_all)
        assert _same_objects(results)
        assert entity._meanings["p1"][1] is entity["p1"]
        assert entity._meanings["p20"][1] is entity["p20"]


def test_reading_while_encoding(lazy_type: type[LazyEntity]) -> None:
    """Entities can be written, copied and materialized while others read them."""
    expected = snapshot(stock_entity(MANY))
    for _ in range(ROUNDS):
        entity = lazy_type.from_bytes(MANY)

        def work(number: int, entity: LazyEntity = entity) -> Any:
            match number % 3:
                case 0:
                    return snapshot(stock_entity(lazyentity.raw(entity)))
                case 1:
                    return snapshot(lazyentity.materialize(entity))
                case _:
                    return snapshot(entity)

        assert all(result == expected for result in together(THREADS, work))


def test_meanings_that_another_thread_reads_while_materializing(
    lazy_type: type[LazyEntity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The meanings of the result hold its own values: the client drops others on write."""
    entity: Any = lazy_type.from_bytes(MANY)
    decoded = lazy_type._decoded

    def in_the_middle(self: Any) -> Any:
        found = decoded(self)
        if self is entity:
            _ = self._meanings
        return found

    monkeypatch.setattr(lazy_type, "_decoded", in_the_middle, raising=False)
    expected = snapshot(stock_entity(MANY))
    assert snapshot(lazyentity.materialize(entity)) == expected


def test_attributes_that_another_thread_reads_while_detaching(
    lazy_type: type[LazyEntity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The detached entity has all of them."""
    entity = lazy_type.from_bytes(MANY)
    assert entity.exclude_from_indexes == set()
    iterate = lazy_type.__iter__

    def in_the_middle(self: Any) -> Any:
        if self is entity:
            # As a copy or a pickle does.
            vars(self)
        return iterate(self)

    monkeypatch.setattr(lazy_type, "__iter__", in_the_middle)
    (detached,) = lazyentity.detach([entity])
    assert vars(detached).keys() == vars(entity).keys()
    assert detached.key == entity.key


RAW = serialise(
    {"inner": {"deep": 1}, "many": [1, 2], "text": "t", "more": "u"},
    meanings={"many": (9, [14, None]), "text": 15, "more": 15},
)


WAYS: dict[str, Callable[[Any], object]] = {
    "a value": lambda entity: entity.update(text=entity),
    "a new value": lambda entity: entity.setdefault("more", [entity]),
    "storage": lambda entity: dict.__setitem__(entity, "text", entity),
    "a list that was read": lambda entity: entity["many"].append(entity),
    "an embedded entity": lambda entity: entity["inner"].update(deep=entity),
    # Only the collector looks into a slot, which a subclass may have.
    "an attribute or slot": lambda entity: setattr(entity, "slot", entity),
    "an attribute": lambda entity: setattr(entity, "itself", entity),
    "an attribute of an embedded entity": lambda entity: setattr(entity["inner"], "outer", entity),
    "vars()": lambda entity: vars(entity).update(itself=entity),
    "__dict__": lambda entity: setattr(entity, "__dict__", {"itself": entity}),
    "the key": lambda entity: setattr(entity.key, "owner", entity),
    "meanings": lambda entity: entity._meanings.update(text=(15, entity)),
    "a policy": lambda entity: setattr(entity, "_policy", [entity]),
}


@pytest.mark.parametrize("has_slots", [False, True])
@pytest.mark.parametrize("lead", WAYS.values(), ids=WAYS)
def test_cycles_are_collected(
    lazy_type: type[LazyEntity], lead: Callable[[Any], object], has_slots: bool
) -> None:
    """Also where the entity was not known to the collector before."""
    kind: Any = type("Slotted", (lazy_type,), {"__slots__": ("slot",)}) if has_slots else lazy_type
    entity = kind.from_bytes(RAW)
    lead(entity)
    seen = weakref.ref(entity)
    del entity
    gc.collect()
    assert seen() is None
