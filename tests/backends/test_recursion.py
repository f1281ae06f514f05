"""However deep entities and arrays are nested, nothing crashes, and stock's depth can be read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity import LazyEntity
from tests.backends.malformed import entity_of
from tests.conftest import BACKENDS, IMPLEMENTATIONS
from tests.fuzz.checks import check_entity
from tests.fuzz.seeds import nested_arrays, nested_entities, nested_groups
from tests.support.snapshots import Raised, outcome, snapshot, whole
from tests.support.stock import EntityMessage, stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN
from tests.support.strategies.schema import ARRAY, VALUE

DEPTHS = [1, 10, 24, 25, 30, 31, 32, 33, 34, 39, 40, 41, 48, 49, 50, 60, 99, 100, 101]


def _leaf(value: Any, depth: int) -> Any:
    """Go down ``depth`` levels, one access each."""
    for _ in range(depth):
        value = value["a"] if isinstance(value, dict) else value[0]
    return value


def _accepted(raw: bytes) -> bool:
    return not isinstance(outcome(lambda: EntityMessage.FromString(raw)), Raised)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("make", [nested_arrays, nested_entities], ids=["arrays", "entities"])
def test_nested_values(make: Any, depth: int) -> None:
    """Lazily and eagerly, each level is stock's as far as protobuf accepts it."""
    check_entity(make(depth))


@pytest.mark.parametrize("make", [nested_arrays, nested_entities], ids=["arrays", "entities"])
def test_very_deep(lazy_type: type[LazyEntity], make: Any) -> None:
    """Nesting that would overflow the stack, if followed, is refused or read level by level."""
    lazy = outcome(lambda: lazy_type.from_bytes(make(5_000)))
    read = lazy if isinstance(lazy, Raised) else outcome(lambda: _leaf(lazy, 5_001))
    assert read == 1 or read.kind is DecodeError


_ONE = wire.integer(VALUE.integer_value, 1)
_KEY: bytes = EntityMessage.FromString(PLAIN).key.SerializeToString()
_AROUND_GROUPS: dict[str, Callable[[wire.Field], bytes]] = {
    "entity": lambda groups: PLAIN + groups.encode(),
    "value": lambda groups: entity_of("a", _ONE, groups),
    "embedded entity": lambda groups: entity_of(
        "a", wire.delimited(VALUE.entity_value, PLAIN + groups.encode())
    ),
    "item": lambda groups: entity_of(
        "a", wire.message(VALUE.array_value, wire.message(ARRAY.values, _ONE, groups))
    ),
    "key": lambda groups: entity_of("a", _ONE, key=_KEY + groups.encode()),
}


@pytest.mark.parametrize("depth", [1, 4, 5, *range(94, 102)])
@pytest.mark.parametrize("around", _AROUND_GROUPS)
def test_groups(lazy_type: type[LazyEntity], around: str, depth: int) -> None:
    """Unknown groups that protobuf accepts change nothing; deeper ones are read, or raise."""
    raw = _AROUND_GROUPS[around](nested_groups(depth))
    read = outcome(lambda: snapshot(lazyentity.materialize(lazy_type.from_bytes(raw))))
    if _accepted(raw):
        assert read == snapshot(stock_entity(raw))
    else:
        assert read == snapshot(stock_entity(_AROUND_GROUPS[around](nested_groups(1)))) or (
            read.kind is DecodeError
        )


def test_deeper_than_a_response_can_be(lazy_type: type[LazyEntity]) -> None:
    """Stock refuses the whole response, whose depth includes that around the entity."""
    raw = PLAIN + nested_groups(99).encode()
    response = wire.message(1, wire.delimited(1, raw)).encode()
    with pytest.raises(DecodeError):
        datastore_pb2.LookupResponse.pb().FromString(response)
    stock = stock_entity(raw)
    assert snapshot(lazy_type.from_bytes(raw)) == snapshot(stock)
    for backend, module in BACKENDS.items():
        reader = module.EntityReader(IMPLEMENTATIONS[backend], module.stock_from_raw, is_stock=True)
        _, (entity,), _ = module.split_lookup(response, module.ReadRpc(), module.ResultBytes)
        assert whole(entity.read(reader)) == whole(stock)


@pytest.mark.parametrize("around", _AROUND_GROUPS)
def test_groups_in_eager_mode(backend: str, around: str) -> None:
    """Those that protobuf refuses in an entity are refused."""
    stock_from_raw = BACKENDS[backend].stock_from_raw
    accepted = set()
    for depth in (1, 4, 5, *range(94, 102)):
        raw = _AROUND_GROUPS[around](nested_groups(depth))
        stock = outcome(functools.partial(_whole, stock_entity, raw))
        assert outcome(functools.partial(_whole, stock_from_raw, raw)) == stock
        accepted.add(not isinstance(stock, Raised))
    assert accepted == {True, False}


def _whole(convert: Callable[[bytes], Any], raw: bytes) -> Any:
    return whole(convert(raw))


def test_the_limit_is_among_the_depths() -> None:
    """The depths above are some that protobuf accepts and some that it refuses, of both kinds."""
    for make in (nested_arrays, nested_entities):
        assert {_accepted(make(depth)) for depth in DEPTHS} == {True, False}
