"""Entities that are malformed, each in one way."""

from __future__ import annotations

from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN
from tests.support.strategies.schema import ENTITY, ENTRY, KEY, VALUE


def entity_of(name: str | bytes, *value: wire.Field, key: bytes | None = None) -> bytes:
    """Serialise an entity with one property of any name and value."""
    entry = wire.message(
        ENTITY.properties, wire.delimited(ENTRY.key, name), wire.message(ENTRY.value, *value)
    )
    fields = [entry] if key is None else [wire.delimited(ENTITY.key, key), entry]
    return wire.encode(fields)


_STRING = wire.delimited(VALUE.string_value, "x")
_BAD_TEXT = b"\xff"


MALFORMED: dict[str, bytes] = {
    "a truncated entity": PLAIN[:-1],
    "a truncated entry": entity_of("a", _STRING)[:-1],
    "a truncated length": b"\x1a\x80",
    "field number zero": b"\x02\x00" + PLAIN,
    "a group without an end": b"\x0b" + PLAIN,
    "an end without a group": b"\x0c" + PLAIN,
    "a name that is not UTF-8": entity_of(_BAD_TEXT, _STRING),
    "a string that is not UTF-8": entity_of("a", wire.delimited(VALUE.string_value, _BAD_TEXT)),
    "a truncated value": entity_of("a", wire.Field(VALUE.double_value, wire.FIXED64, b"1")),
    "a truncated timestamp": entity_of("a", wire.delimited(VALUE.timestamp_value, b"\x08")),
    "a truncated geo point": entity_of("a", wire.delimited(VALUE.geo_point_value, b"\x09\x00")),
    "a truncated array": entity_of("a", wire.delimited(VALUE.array_value, b"\x0a\x05")),
    "a truncated key value": entity_of("a", wire.delimited(VALUE.key_value, b"\x12\x05")),
    "a key value that is not UTF-8": entity_of(
        "a", wire.message(VALUE.key_value, wire.delimited(KEY.path, b"\x0a\x01\xff"))
    ),
    "a truncated key": entity_of("a", _STRING, key=b"\x12\x05"),
    "a key that is not UTF-8": entity_of("a", _STRING, key=b"\x0a\x03\x12\x01\xff"),
}
