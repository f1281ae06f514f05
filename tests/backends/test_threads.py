"""Threads that read one entity while it is being decoded."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from lazyentity import LazyEntity
from tests.support.concurrency import together
from tests.support.snapshots import snapshot
from tests.support.stock import stock_entity
from tests.support.strategies.samples import RICH, rich_properties, serialise

THREADS = 16
ROUNDS = 40

MANY = serialise(
    {f"{name} {number}": value for number in range(8) for name, value in rich_properties().items()},
    meanings={f"text {number}": 15 for number in range(8)},
)


pytestmark = pytest.mark.usefixtures("frequent_switches")


def _read_in_some_order(entity: Any, number: int) -> dict[str, Any]:
    names = list(entity)
    random.Random(number).shuffle(names)
    match number % 4:
        case 0:
            return dict(entity.items())
        case 1:
            _ = entity._meanings, entity.exclude_from_indexes, entity.key
            return {name: entity.get(name) for name in names}
        case _:
            return {name: entity[name] for name in names}


@pytest.mark.parametrize("raw", [RICH, MANY], ids=["few", "many"])
def test_one_object_a_property(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """All threads get one object of a property, in any order and by any operation."""
    stock = snapshot(stock_entity(raw))
    for _ in range(ROUNDS):
        entity = lazy_type.from_bytes(raw)
        readings = together(THREADS, partial(_read_in_some_order, entity))
        for name, value in dict(entity).items():
            assert all(reading[name] is value for reading in readings)
        assert snapshot(entity) == stock


def test_meanings_stay_with_their_objects(lazy_type: type[LazyEntity]) -> None:
    """The object that a meaning goes with is the one that every thread has."""
    for _ in range(ROUNDS):
        entity: Any = lazy_type.from_bytes(MANY)
        together(THREADS, partial(_read_in_some_order, entity))
        assert len(entity._meanings) == 8
        assert all(original is entity[name] for name, (_, original) in entity._meanings.items())


def _leaf(entity: Any, _: int) -> Any:
    return entity["inner"]["deep"]


def test_embedded_entity_of_all_threads(lazy_type: type[LazyEntity]) -> None:
    """An embedded entity is one object as well, and so is each of its values."""
    for _ in range(ROUNDS):
        entity: Any = lazy_type.from_bytes(RICH)
        leaves = together(THREADS, partial(_leaf, entity))
        assert all(leaf is leaves[0] for leaf in leaves)


def _attribute(entity: Any, name: str, _: int) -> Any:
    return getattr(entity, name)


def test_attributes(lazy_type: type[LazyEntity]) -> None:
    """Key, flags and meanings are one object each for all threads."""
    for _ in range(ROUNDS):
        entity: Any = lazy_type.from_bytes(RICH)
        for name in ("key", "exclude_from_indexes", "_meanings"):
            found = together(THREADS, partial(_attribute, entity, name))
            assert all(value is found[0] for value in found)
