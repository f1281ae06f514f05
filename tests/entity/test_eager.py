"""Stock entities decoded as a whole: equal to the client's in every respect, order included."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.codec import values
from tests.backends.malformed import MALFORMED, entity_of
from tests.conftest import BACKENDS
from tests.fuzz.seeds import nested_arrays, nested_entities
from tests.support.snapshots import Raised, outcome, whole
from tests.support.stock import stock_entity
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.samples import RICH
from tests.support.strategies.schema import VALUE

Make = Callable[[bytes], Entity]


@pytest.fixture(scope="session", params=list(BACKENDS))
def make(request: pytest.FixtureRequest) -> Make:
    """The function of each backend that makes stock entities from bytes."""
    made: Make = BACKENDS[request.param].stock_from_raw
    return made


def result(call: Callable[[bytes], Entity], raw: bytes) -> Any:
    """Return the result or error of a conversion in a form that can be compared."""
    made = outcome(call, raw)
    return made if isinstance(made, Raised) else whole(made)


NAMES = st.text(max_size=12) | st.sampled_from(["x" * 200, "y" * 20_000])
ANY = st.one_of(entities(Grammar()), entities(Grammar(faulty=True)))


@given(raw=ANY)
def test_as_the_client_converts_it(make: Make, raw: bytes) -> None:
    """Types, values, flags, meanings and all orders are stock's; so is the first error's text."""
    assert result(make, raw) == result(stock_entity, raw)


@given(names=st.lists(NAMES, max_size=60), data=st.data())
def test_order(make: Make, names: list[str], data: st.DataObject) -> None:
    """Properties come in stock's order, with any names and in any number.

    The same holds for repeated names, of which the last counts.
    """
    flagged = [data.draw(st.booleans()) for _ in names]
    pairs = zip(names, flagged, strict=True)
    raw = b"".join(entity_of(name, *_flag(flag)) for name, flag in pairs)
    for _ in range(3):
        assert result(make, raw) == result(stock_entity, raw)


def _flag(excluded: bool) -> list[wire.Field]:
    number = wire.integer(VALUE.integer_value, 5)
    return [wire.integer(VALUE.exclude_from_indexes, 1), number] if excluded else [number]


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(make: Make, name: str) -> None:
    """Bytes that protobuf refuses raise its error, at the top and in an embedded entity."""
    for raw in (MALFORMED[name], _embedding(MALFORMED[name])):
        assert result(make, raw) == result(stock_entity, raw)
        assert isinstance(result(make, raw), Raised)


@given(raw=ANY, data=st.data())
def test_damaged(make: Make, raw: bytes, data: st.DataObject) -> None:
    """Damaged bytes give protobuf's result: an error or an entity."""
    damaged = bytearray(raw or b"\0")
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    assert result(make, bytes(damaged)) == result(stock_entity, bytes(damaged))


def _embedding(raw: bytes) -> bytes:
    embedded = wire.delimited(VALUE.entity_value, raw)
    return entity_of("before", *_flag(True)) + entity_of("e", embedded)


@pytest.mark.parametrize("depth", [1, 10, 28, 29, 30, 31, 32, 33, 34, 44, 45, 49, 50, 100, 1000])
@pytest.mark.parametrize("nested", [nested_arrays, nested_entities], ids=["arrays", "entities"])
def test_depth(make: Make, nested: Any, depth: int) -> None:
    """Depths that protobuf accepts are decoded, others refused, without a stack overflow."""
    assert result(make, nested(depth)) == result(stock_entity, nested(depth))


@pytest.mark.parametrize("depth", [5, 10, 20, 30])
@pytest.mark.parametrize(
    "leaf",
    [[], [wire.integer(99, 1), wire.integer(VALUE.boolean_value, 1)] * 2],
    ids=["no value", "two values"],
)
def test_an_unusual_leaf_is_linear(
    make: Make, monkeypatch: pytest.MonkeyPatch, depth: int, leaf: list[wire.Field]
) -> None:
    """A value that the client has to convert goes to it once, as a whole, at any depth."""
    raw = entity_of("leaf", *leaf)
    for _ in range(depth):
        raw = entity_of("in", wire.delimited(VALUE.entity_value, raw))
    calls: list[Any] = []

    def counted(message: Any) -> Any:
        calls.append(message)
        return values.stock_entity(message)

    monkeypatch.setattr(importlib.import_module(make.__module__), "stock_entity", counted)
    assert result(make, raw) == result(stock_entity, raw)
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["__init__", "update", "__setattr__"])
def test_methods_of_the_application_are_called(
    make: Make, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A constructor, update() or __setattr__ that an application put on the class is called."""
    calls: list[Any] = []
    original: Any = getattr(Entity, name)

    def replacement(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Entity, name, replacement)
    stock_entity(RICH)
    expected = len(calls)
    make(RICH)
    assert len(calls) == 2 * expected > 0


def test_mutable_parts_are_not_shared(make: Make) -> None:
    """Two entities of the same shape share no mutable part, and neither do later ones."""
    first, second = make(RICH), make(RICH)
    for entity in (first, second):
        entity.exclude_from_indexes.add("more")
        entity._meanings.clear()
        entity["inners"].append(1)
        entity["inner"]["new"] = 1
        del entity["text"]
        entity["another"] = 2
    assert whole(make(RICH)) == whole(stock_entity(RICH))
