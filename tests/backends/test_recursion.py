"""However deep entities and arrays are nested, nothing crashes, and stock's depth can be read."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import DecodeError

from fuzz.seeds import nested_arrays, nested_entities
from lazyentity import LazyEntity
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import EntityMessage, stock_entity

DEPTHS = [1, 10, 24, 25, 30, 31, 32, 33, 34, 39, 40, 41, 48, 49, 50, 60, 99, 100, 101, 1000]


def _leaf(value: Any, depth: int) -> Any:
    """Go down ``depth`` levels, one access each."""
    for _ in range(depth):
        value = value["a"] if isinstance(value, dict) else value[0]
    return value


def _accepted(raw: bytes) -> bool:
    return not isinstance(outcome(lambda: EntityMessage.FromString(raw)), Raised)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("make", [nested_arrays, nested_entities], ids=["arrays", "entities"])
def test_leaf_by_leaf(lazy_type: type[LazyEntity], make: Any, depth: int) -> None:
    """Bytes that protobuf accepts give stock's leaf; others give the leaf or DecodeError."""
    raw = make(depth)
    read = outcome(lambda: _leaf(lazy_type.from_bytes(raw), depth + 1))
    if _accepted(raw):
        assert read == _leaf(stock_entity(raw), depth + 1) == 1
        assert snapshot(lazy_type.from_bytes(raw)) == snapshot(stock_entity(raw))
    else:
        assert read == 1 or read.kind is DecodeError


@pytest.mark.parametrize("make", [nested_arrays, nested_entities], ids=["arrays", "entities"])
def test_very_deep(lazy_type: type[LazyEntity], make: Any) -> None:
    """Nesting that would overflow the stack, if followed, is refused or read level by level."""
    lazy = outcome(lambda: lazy_type.from_bytes(make(5_000)))
    read = lazy if isinstance(lazy, Raised) else outcome(lambda: _leaf(lazy, 5_001))
    assert read == 1 or read.kind is DecodeError


def test_the_limit_is_among_the_depths() -> None:
    """The depths above are some that protobuf accepts and some that it refuses, of both kinds."""
    for make in (nested_arrays, nested_entities):
        assert {_accepted(make(depth)) for depth in DEPTHS} == {True, False}
