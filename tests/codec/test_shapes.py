"""Entities with the same names share a shape, and properties are found in any order."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.codec.entityproto import PROPERTY
from lazyentity.entity import LazyEntity
from tests.backends.indexes import NATIVE, field
from tests.support.snapshots import snapshot, snapshot_key, snapshot_meanings
from tests.support.stock import encoded, stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise
from tests.support.strategies.schema import ENTITY, ENTRY, KEY, PARTITION, PATH_ELEMENT, VALUE
from tests.support.strategies.wire import Field


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


MOST_PROPERTIES = 12
"""Few and many: the native backend finds the values of more than eight in another way."""

KEY_FIELD = wire.message(
    ENTITY.key,
    wire.message(KEY.partition_id, wire.delimited(PARTITION.project_id, "p")),
    wire.message(
        KEY.path, wire.delimited(PATH_ELEMENT.kind, "Kind"), wire.integer(PATH_ELEMENT.id, 7)
    ),
)
UNKNOWN = [
    wire.integer(90, 1),
    wire.double(91, 1.5),
    wire.delimited(92, b"unknown"),
    Field(93, wire.START_GROUP, wire.delimited(1, b"in a group").encode()),
    Field(94, wire.FIXED32, b"1234"),
]
VALUES = [
    [wire.delimited(VALUE.string_value, "text")],
    [wire.integer(VALUE.integer_value, -3)],
    [wire.double(VALUE.double_value, 0.5)],
    [wire.integer(VALUE.boolean_value, 1)],
    [wire.integer(VALUE.null_value, 0)],
    [wire.delimited(VALUE.blob_value, b"x" * 200)],
    [wire.integer(VALUE.integer_value, 5), wire.integer(VALUE.meaning, 9)],
    [wire.delimited(VALUE.string_value, "s"), wire.integer(VALUE.exclude_from_indexes, 1)],
]
QUESTIONS = ("key", "exclude_from_indexes", "_meanings")


@st.composite
def serialised(draw: st.DrawFn) -> bytes:
    """Entities of few or many properties, with other fields at any place."""
    fields = [
        wire.message(
            ENTITY.properties,
            wire.delimited(ENTRY.key, f"p{number}"),
            wire.message(ENTRY.value, *draw(st.sampled_from(VALUES))),
        )
        for number in range(draw(st.integers(0, MOST_PROPERTIES)))
    ]
    others = draw(st.lists(st.sampled_from(UNKNOWN), max_size=4))
    if draw(st.booleans()):
        others.append(KEY_FIELD)
    for other in others:
        fields.insert(draw(st.integers(0, len(fields))), other)
    return wire.encode(fields)


def _answer(entity: Any, question: str) -> Any:
    match question:
        case "key":
            return snapshot_key(entity.key)
        case "exclude_from_indexes":
            return entity.exclude_from_indexes
        case "_meanings":
            return snapshot_meanings(entity)
        case _:
            return snapshot(entity[question])


@given(raw=serialised(), data=st.data())
def test_any_order(lazy_type: type[LazyEntity], raw: bytes, data: st.DataObject) -> None:
    stock = stock_entity(raw)
    lazy = lazy_type.from_bytes(raw)
    for question in data.draw(st.permutations([*stock, *QUESTIONS])):
        assert _answer(lazy, question) == _answer(stock, question)


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
