"""Entities with the same names share a shape, and properties are found in any order."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore.entity import Entity

from lazyentity.codec.entityproto import PROPERTY
from lazyentity.entity import LazyEntity
from tests.backends.indexes import NATIVE, field
from tests.support.snapshots import snapshot
from tests.support.stock import encoded, stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise
from tests.support.strategies.schema import ENTITY, ENTRY, VALUE


def _key_table_bytes(mapping: Any) -> int:
    """Return the size of a dict's storage without the object itself."""
    return dict.__sizeof__(mapping) - type(mapping).__basicsize__


@pytest.mark.parametrize("size", range(60))
def test_storage_is_no_larger_than_that_of_a_dict(lazy_type: type[LazyEntity], size: int) -> None:
    """And so are the embedded entities' that make up a document."""
    values = {f"name{number}": number for number in range(size)}
    stock = Entity()
    stock.update(values)
    lazy = lazy_type.from_bytes(encoded(stock))
    assert len(lazy) == size
    assert _key_table_bytes(lazy) <= _key_table_bytes(values)


@pytest.mark.parametrize("size", range(1, 41))
def test_names_that_differ_in_one_character(lazy_type: type[LazyEntity], size: int) -> None:
    """Wherever that is, no entity is taken for one like that before it."""

    def entry(name: str) -> bytes:
        entity = Entity()
        entity[name] = name
        return encoded(entity)

    same = "n" * size
    for place in range(size):
        for name in (same, same[:place] + "m" + same[place + 1 :]):
            # After the same first name: so one is compared with the other.
            lazy = lazy_type.from_bytes(entry("first") + entry(name))
            assert dict(lazy) == {"first": "first", name: name}


@pytest.mark.parametrize("count", [7, 8, 9])
def test_the_bytes_of_what_is_left(lazy_type: type[LazyEntity], count: int) -> None:
    """Asking for the bytes of a property leaves the others where they are."""
    raw = serialise({f"p{number}": number for number in range(count)})
    lazy: Any = lazy_type.from_bytes(raw)
    for number in (count - 1, 0, 3, 2):
        (value,) = lazy._serialised_values([f"p{number}"])
        assert value == wire.integer(VALUE.integer_value, number).encode()
        assert lazy[f"p{count - number - 1}"] == count - number - 1
    assert dict(lazy) == {f"p{number}": number for number in range(count)}


_NAME = field(3, b"a")
_TEXT = wire.delimited(VALUE.string_value, "x" * 14)
# The tag of the value is the length of what follows it.
_ENTRY = _NAME + wire.message(ENTRY.value, _TEXT).encode()
_ENTITY = wire.delimited(ENTITY.properties, _ENTRY).encode()


def test_names_of_the_other_encoding(lazy_type: type[LazyEntity]) -> None:
    """A learned shape of an ``EntityProto`` is not found in an ``Entity``."""
    assert _ENTRY[len(_NAME)] == len(_ENTRY) - len(_NAME) - 1
    proto = field(PROPERTY, _NAME + b"\x20\x00" + field(5, b"\x08\x07"))
    for _ in range(4):
        assert NATIVE.from_bytes(proto).names == ("a",)
    assert snapshot(lazy_type.from_bytes(_ENTITY)) == snapshot(stock_entity(_ENTITY))
