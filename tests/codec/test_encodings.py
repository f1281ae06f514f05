"""Each legal, non-canonical encoding has the same meaning as in the stock client."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import DecodeError

from lazyentity import LazyEntity
from tests.backends.malformed import entity_of
from tests.support.snapshots import outcome, snapshot
from tests.support.stock import stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise
from tests.support.strategies.schema import (
    ARRAY,
    ENTITY,
    ENTRY,
    TIMESTAMP,
    VALUE,
)
from tests.support.strategies.wire import Field

NAME = wire.delimited(ENTRY.key, "a")


def _value(*fields: Field) -> Field:
    return wire.message(ENTRY.value, *fields)


def _entry(*fields: Field) -> Field:
    return wire.message(ENTITY.properties, *fields)


def _property(*fields: Field) -> Field:
    return _entry(NAME, _value(*fields))


def _element(*fields: Field) -> Field:
    return wire.message(ARRAY.values, *fields)


def _array(*elements: Field) -> Field:
    return wire.message(VALUE.array_value, *elements)


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
