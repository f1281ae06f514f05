"""Each legal, non-canonical encoding has the same meaning as in the stock client."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import DecodeError

from lazyentity import LazyEntity
from tests.backends.malformed import entity_of
from tests.support.parts import assert_same_parts
from tests.support.snapshots import outcome, snapshot
from tests.support.stock import EntityMessage, stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise
from tests.support.strategies.schema import (
    ARRAY,
    ENTITY,
    ENTRY,
    KEY,
    PARTITION,
    PATH_ELEMENT,
    TIMESTAMP,
    VALUE,
)
from tests.support.strategies.wire import Field

NAME = wire.delimited(ENTRY.key, "a")
OTHER_NAME = wire.delimited(ENTRY.key, "b")
NUMBER = wire.integer(VALUE.integer_value, 5)
TEXT = wire.delimited(VALUE.string_value, "text")
EXCLUDED = wire.integer(VALUE.exclude_from_indexes, 1)
MEANING = wire.integer(VALUE.meaning, 9)
GROUP = Field(77, wire.START_GROUP, wire.integer(1, 1).encode())
UNKNOWN = wire.delimited(99, b"unknown")
PARTITION_ID = wire.message(KEY.partition_id, wire.delimited(PARTITION.project_id, "p"))


def _value(*fields: Field) -> Field:
    return wire.message(ENTRY.value, *fields)


def _entry(*fields: Field) -> Field:
    return wire.message(ENTITY.properties, *fields)


def _property(*fields: Field) -> Field:
    return _entry(NAME, _value(*fields))


def _path(kind: str, *fields: Field) -> Field:
    return wire.message(KEY.path, wire.delimited(PATH_ELEMENT.kind, kind), *fields)


def _key(*fields: Field, number: int = ENTITY.key) -> Field:
    return wire.message(number, *fields)


def _id(number: int) -> Field:
    return wire.integer(PATH_ELEMENT.id, number)


def _padded(field: Field) -> Field:
    return field._replace(padding=3)


def _element(*fields: Field) -> Field:
    return wire.message(ARRAY.values, *fields)


def _array(*elements: Field) -> Field:
    return wire.message(VALUE.array_value, *elements)


INNER = wire.message(VALUE.entity_value, _property(NUMBER))
OTHER_INNER = wire.message(VALUE.entity_value, _entry(OTHER_NAME, _value(TEXT)))
CANONICAL = _property(NUMBER)

ENCODINGS: dict[str, list[Field]] = {
    "empty": [],
    "canonical": [_key(PARTITION_ID, _path("Kind", _id(1))), CANONICAL],
    "properties before the key": [CANONICAL, _key(PARTITION_ID, _path("Kind", _id(1)))],
    "key between properties": [
        CANONICAL,
        _key(PARTITION_ID, _path("Kind", _id(1))),
        _entry(OTHER_NAME, _value(TEXT)),
    ],
    "key in two parts": [_key(PARTITION_ID), CANONICAL, _key(_path("Kind", _id(1)))],
    "key in two parts, path first": [_key(_path("Kind", _id(1))), _key(PARTITION_ID)],
    "path before partition": [_key(_path("Kind", _id(1)), PARTITION_ID)],
    "id before kind": [
        _key(
            PARTITION_ID,
            wire.message(KEY.path, _id(1), wire.delimited(PATH_ELEMENT.kind, "Kind")),
        )
    ],
    "id and then name": [
        _key(PARTITION_ID, _path("Kind", _id(1), wire.delimited(PATH_ELEMENT.name, "n")))
    ],
    "name and then id": [
        _key(PARTITION_ID, _path("Kind", wire.delimited(PATH_ELEMENT.name, "n"), _id(1)))
    ],
    "id of zero": [_key(PARTITION_ID, _path("Kind", _id(0)))],
    "empty name of a key": [
        _key(PARTITION_ID, _path("Kind", wire.delimited(PATH_ELEMENT.name, "")))
    ],
    "negative id": [_key(PARTITION_ID, _path("Kind", _id(-1)))],
    "partial key": [_key(PARTITION_ID, _path("Kind"))],
    "partial ancestor": [_key(PARTITION_ID, _path("Parent"), _path("Kind", _id(1)))],
    "empty path": [_key(PARTITION_ID)],
    "empty key": [_key()],
    "no partition": [_key(_path("Kind", _id(1)))],
    "unknown field in the key": [_key(PARTITION_ID, UNKNOWN, _path("Kind", _id(1), GROUP))],
    "value before name": [_entry(_value(NUMBER), NAME)],
    "no name": [_entry(_value(NUMBER))],
    "no value": [_entry(NAME)],
    "empty value": [_property()],
    "empty entry": [_entry()],
    "name twice": [_entry(OTHER_NAME, NAME, _value(NUMBER))],
    "name twice, value between": [_entry(OTHER_NAME, _value(NUMBER), NAME)],
    "value twice, other case": [_entry(NAME, _value(NUMBER, MEANING), _value(TEXT))],
    "value twice, merged": [_entry(NAME, _value(INNER), _value(OTHER_INNER, EXCLUDED))],
    "value twice, nothing new": [_entry(NAME, _value(NUMBER), _value())],
    "duplicate": [CANONICAL, _property(TEXT)],
    "duplicate after another": [CANONICAL, _entry(OTHER_NAME, _value(NUMBER)), _property(TEXT)],
    "duplicate that is not merged": [_property(INNER, MEANING), _property(OTHER_INNER)],
    "duplicate without value": [CANONICAL, _entry(NAME)],
    "duplicate without name": [_entry(_value(NUMBER)), _entry(_value(TEXT))],
    "unknown field in the entity": [UNKNOWN, CANONICAL, GROUP],
    "unknown field in an entry": [_entry(NAME, _value(NUMBER), UNKNOWN)],
    "unknown field before the name": [_entry(UNKNOWN, NAME, _value(NUMBER))],
    "unknown group in an entry": [_entry(NAME, GROUP, _value(NUMBER))],
    "unknown field in a duplicate": [CANONICAL, _entry(NAME, _value(TEXT), UNKNOWN)],
    "unknown field in the first of two": [_entry(NAME, _value(TEXT), UNKNOWN), CANONICAL],
    "unknown field in one of two": [
        _entry(NAME, _value(NUMBER, UNKNOWN)),
        _entry(OTHER_NAME, _value(TEXT), UNKNOWN),
        UNKNOWN,
    ],
    "unknown field in a value": [_property(UNKNOWN, NUMBER, GROUP)],
    "name of another wire type": [_entry(wire.integer(ENTRY.key, 1), NAME, _value(NUMBER))],
    "value of another wire type": [_entry(NAME, wire.integer(ENTRY.value, 1), _value(NUMBER))],
    "entry of another wire type": [wire.integer(ENTITY.properties, 1), CANONICAL],
    "key of another wire type": [wire.integer(ENTITY.key, 1), CANONICAL],
    "packed integer": [_property(wire.delimited(VALUE.integer_value, b"\x05"), TEXT)],
    "double as fixed32": [_property(Field(VALUE.double_value, wire.FIXED32, b"\0\0\0\0"), TEXT)],
    "two cases": [_property(NUMBER, TEXT)],
    "two cases, last one a message": [_property(TEXT, INNER)],
    "one case twice": [_property(NUMBER, wire.integer(VALUE.integer_value, 6))],
    "entity in two parts": [_property(INNER, OTHER_INNER)],
    "entity in two parts, scalar between": [_property(INNER, NUMBER, OTHER_INNER)],
    "entity in two parts, duplicate inside": [_property(INNER, INNER)],
    "array in two parts": [_property(_array(_element(NUMBER)), _array(_element(TEXT)))],
    "timestamp in two parts": [
        _property(
            wire.message(VALUE.timestamp_value, wire.integer(TIMESTAMP.seconds, 7)),
            wire.message(VALUE.timestamp_value, wire.integer(TIMESTAMP.nanos, 8)),
        )
    ],
    "key value in two parts": [
        _property(
            _key(PARTITION_ID, number=VALUE.key_value),
            _key(_path("Kind", _id(1)), number=VALUE.key_value),
        )
    ],
    "meaning before the value": [_property(MEANING, NUMBER)],
    "meaning twice": [_property(MEANING, NUMBER, wire.integer(VALUE.meaning, 0))],
    "meaning of more than 32 bits": [_property(NUMBER, wire.integer(VALUE.meaning, 2**32 + 5))],
    "negative meaning": [_property(NUMBER, wire.integer(VALUE.meaning, -1))],
    "flag of more than one bit": [
        _property(NUMBER, wire.integer(VALUE.exclude_from_indexes, 2**63))
    ],
    "flag twice": [_property(EXCLUDED, NUMBER, wire.integer(VALUE.exclude_from_indexes, 0))],
    "boolean of more than one bit": [_property(wire.integer(VALUE.boolean_value, 2**35))],
    "null of another number": [_property(wire.integer(VALUE.null_value, 3))],
    "integer with redundant bytes": [_property(wire.integer(VALUE.integer_value, 5, padding=4))],
    "redundant bytes in tags and lengths": [
        _padded(_entry(_padded(NAME), _padded(_value(_padded(TEXT)))))
    ],
    "empty array": [_property(_array(), EXCLUDED, MEANING)],
    "array of an array": [_property(_array(_element(_array(_element(NUMBER)))))],
    "array without a value": [_property(_array(_element()))],
    "array all excluded": [_property(_array(_element(NUMBER, EXCLUDED), _element(TEXT, EXCLUDED)))],
    "array flags disagree": [
        _property(_array(_element(NUMBER, EXCLUDED), _element(TEXT)), MEANING)
    ],
    "array flag at the root alone": [_property(_array(_element(NUMBER)), EXCLUDED)],
    "array meanings": [_property(_array(_element(NUMBER, MEANING), _element(TEXT)), MEANING)],
    "array meanings of elements": [_property(_array(_element(NUMBER), _element(TEXT, MEANING)))],
    "array with an unknown field": [_property(_array(UNKNOWN, _element(NUMBER, UNKNOWN)))],
    "empty geo point": [_property(wire.message(VALUE.geo_point_value))],
    "empty timestamp": [_property(wire.message(VALUE.timestamp_value))],
    "empty entity": [_property(wire.message(VALUE.entity_value))],
    "empty key value": [_property(_key(number=VALUE.key_value))],
    "long name": [_entry(wire.delimited(ENTRY.key, "n" * 20_000), _value(NUMBER))],
    "name of two bytes' length": [_entry(wire.delimited(ENTRY.key, "n" * 128), _value(NUMBER))],
    "long value": [_property(wire.delimited(VALUE.string_value, "é" * 100_000))],
    "name with a zero": [_entry(wire.delimited(ENTRY.key, "a\0b"), _value(NUMBER))],
    "many properties": [
        _entry(wire.delimited(ENTRY.key, f"p{number}"), _value(wire.integer(2, number)))
        for number in range(1000)
    ],
    "many duplicates": [
        _entry(wire.delimited(ENTRY.key, f"p{number % 3}"), _value(wire.integer(2, number)))
        for number in range(200)
    ],
}


@pytest.mark.parametrize("ballast", [[], [wire.BALLAST]], ids=["small", "large"])
@pytest.mark.parametrize("fields", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_means_what_it_means_to_stock(
    lazy_type: type[LazyEntity], fields: list[Field], ballast: list[Field]
) -> None:
    """Each part, and all together, have stock's value or raise stock's error."""
    raw = wire.encode([*fields, *ballast])
    assert_same_parts(lazy_type.from_bytes(raw), EntityMessage.FromString(raw))
    stock = outcome(lambda: snapshot(stock_entity(raw)))
    assert outcome(lambda: snapshot(lazy_type.from_bytes(raw))) == stock


SECONDS = [
    0,
    -1,
    1_234_567_890,
    2**31,
    9_007_199_255,  # microseconds beyond 2**53, through a float of which stock converts
    -9_007_199_255,
    36_028_797_019,
    253_402_300_799,  # the end of year 9999
    253_402_300_784,
    253_402_300_800,
    -62_135_596_800,  # the start of year 1
    -62_135_596_801,
    2**63 - 1,
    -(2**63),
]
NANOS = [0, 1, 999, 1000, 123_456_789, 999_999_999, 1_000_000_000, -1, -1000, 2**31 - 1, -(2**31)]


def _read(make_entity: Callable[[bytes], Any], raw: bytes) -> Any:
    return snapshot(make_entity(raw)["a"])


@pytest.mark.parametrize("seconds", SECONDS)
def test_timestamps(lazy_type: type[LazyEntity], seconds: int) -> None:
    """A timestamp is stock's, nanoseconds included, or fails as it does there."""
    for nanos in NANOS:
        timestamp = wire.message(
            VALUE.timestamp_value,
            wire.integer(TIMESTAMP.seconds, seconds),
            wire.integer(TIMESTAMP.nanos, nanos),
        )
        for value in (timestamp, _array(_element(timestamp))):
            raw = _property(value).encode()
            stock = outcome(_read, stock_entity, raw)
            assert outcome(_read, lazy_type.from_bytes, raw) == stock


@pytest.mark.parametrize(
    "bits", [0, 1, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, (0x7FF8 << 48) | 1]
)
def test_doubles(lazy_type: type[LazyEntity], bits: int) -> None:
    """A double keeps each of its bits: the sign of zero, infinities, and the payload of a NaN."""
    field = Field(VALUE.double_value, wire.FIXED64, struct.pack("<Q", bits))
    for value in (field, _array(_element(field))):
        raw = _property(value).encode()
        assert snapshot(lazy_type.from_bytes(raw)["a"]) == snapshot(stock_entity(raw)["a"])


@pytest.mark.parametrize("number", [0, 1, -1, 127, 128, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)])
def test_integers(lazy_type: type[LazyEntity], number: int) -> None:
    """Integers are exact over all 64 bits."""
    raw = _property(wire.integer(VALUE.integer_value, number)).encode()
    assert snapshot(lazy_type.from_bytes(raw)["a"]) == snapshot(number)
    assert snapshot(stock_entity(raw)["a"]) == snapshot(number)


@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 127, 128, 129])
@pytest.mark.parametrize("character", ["a", "\0", "\x7f", "\x80", "é", "€", "😀"])
def test_strings_of_any_size(lazy_type: type[LazyEntity], size: int, character: str) -> None:
    for text in (character * size, "x" * size + character, character + "x" * size):
        raw = serialise({"text": text})
        read = lazy_type.from_bytes(raw)["text"]
        assert type(read) is str
        assert read == stock_entity(raw)["text"] == text
        assert read.isascii() == text.isascii()
        assert hash(read) == hash(text)


@pytest.mark.parametrize("size", [2, 64, 65])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_strings_that_are_not_utf8(lazy_type: type[LazyEntity], size: int, place: int) -> None:
    text = bytearray(b"x" * size)
    text[place] = 0xFF
    raw = entity_of("text", wire.delimited(VALUE.string_value, bytes(text)))
    # The native backend parses a value when it is read, the pure one the entity as a whole.
    with pytest.raises(DecodeError):
        lazy_type.from_bytes(raw)["text"]
