"""If the stock client refuses an entity, all parts but the refused one can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note

import lazyentity
from lazyentity import LazyEntity
from tests.support.parts import (
    assert_same_parts,
    assert_some_failure,
    failures_in,
    failures_inside,
    stock_property,
)
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import EntityMessage, content, stock_entity
from tests.support.strategies import Grammar, entities

FAULTY = entities(Grammar(faulty=True))


@given(raw=FAULTY)
def test_each_part_is_as_stock_has_it(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """Each part gives stock's value or stock's exception, type and text; the others stay readable.

    A failed read changes nothing and fails the same way again.
    """
    assert_same_parts(lazy_type.from_bytes(raw), EntityMessage.FromString(raw))


@given(raw=FAULTY)
def test_a_fault_does_not_get_lost(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """Some access raises exactly if the stock client refuses the entity."""
    stock = outcome(lambda: stock_entity(raw))
    failures = list(failures_inside(lazy_type.from_bytes(raw)))
    assert bool(failures) == isinstance(stock, Raised)


@given(raw=FAULTY)
def test_raw_of_a_faulty_entity(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """An entity with any fault inside can be written back unchanged."""
    assert content(lazyentity.raw(lazy_type.from_bytes(raw))) == content(raw)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "items": lambda entity: entity.items(),
    "values": lambda entity: entity.values(),
    "copy": lambda entity: entity.copy(),
    "or": lambda entity: entity | {},
    "ror": lambda entity: {} | entity,
    "eq": lambda entity: entity == dict.fromkeys(entity),
    "dict": dict,
    "materialize": lazyentity.materialize,
}


@given(raw=FAULTY)
def test_reading_everything(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """An operation that reads everything raises the error of some part, and changes no part."""
    message = EntityMessage.FromString(raw)
    parts = [stock_property(name, value) for name, value in message.properties.items()]
    is_refused = any(isinstance(part, Raised) for part in parts)
    # Each with every entity: drawing one takes longer than reading it in all of these ways.
    for name, read in WHOLE.items():
        note(name)
        lazy = lazy_type.from_bytes(raw)
        result = outcome(read, lazy)
        if is_refused:
            assert isinstance(result, Raised)
            assert_some_failure(result, failures_in(message))
        assert_same_parts(lazy, message)


def test_prefetch_stops_at_the_fault(lazy_type: type[LazyEntity]) -> None:
    """Properties decoded before the fault stay decoded, as if read one by one."""
    message = EntityMessage()
    message.properties["a"].integer_value = 1
    message.properties["bad"].meaning = 9
    message.properties["z"].integer_value = 2
    raw = message.SerializeToString()
    lazy = lazy_type.from_bytes(raw)
    with pytest.raises(ValueError, match="did not have any value set"):
        lazyentity.prefetch(lazy, "a", "bad", "z")
    assert lazyentity.decoded(lazy) == ("a",)
    assert snapshot(lazy["z"]) == snapshot(2)
