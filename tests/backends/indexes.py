"""The indexes of an ``EntityProto`` that both backends make, side by side."""

from __future__ import annotations

import importlib
from typing import Any

from lazyentity.codec.entityproto import KEY, PROPERTY, RAW_PROPERTY, Parts
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.pure.entityproto import PropertyIndex

NATIVE: Any = importlib.import_module("lazyentity.native.entityproto").PropertyIndex
PURE: Any = PropertyIndex


def varint(number: int) -> bytes:
    """Encode a number."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def field(number: int, content: bytes) -> bytes:
    """Encode a length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def _property(name: bytes, value: bytes, *, multiple: bool = False, meaning: bytes = b"") -> bytes:
    return meaning + field(3, name) + bytes([0x20, multiple]) + field(5, value)


SAMPLE = b"".join(
    [
        # The key has a group.
        field(KEY, field(13, b"app") + field(14, b"\x0b\x12\x04Kind\x18\x01\x0c")),
        field(PROPERTY, _property(b"one", b"\x08\x07")),
        field(PROPERTY, _property(b"two", b"\x1a\x01x", multiple=True)),
        field(PROPERTY, _property(b"two", b"\x1a\x01y", multiple=True)),
        field(PROPERTY, _property(b"point", b"\x2b\x31abcdefgh\x39abcdefgh\x2c")),
        field(RAW_PROPERTY, _property(b"raw", b"\x1a\x00", meaning=b"\x08\x0f\x12\x03uri")),
        # Unknown to every schema, with a group.
        b"\xa3\x06\x08\x01\xa4\x06",
    ]
)
"""A serialised ``EntityProto`` with a list, a group, a meaning, and a raw property."""


_UNDECODED_TEXT = repr(UNDECODED)

_VALUES = {
    "none": b"",
    "integer": b"\x08\x80\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    "flag": b"\x10\x01",
    "string": b"\x1a\x02\xc3\xa9",
    "surrogate": b"\x1a\x03\xed\xa0\x80",
    "bytes": b"\x1a\x02\xff\x00",
    "double": b"\x21\x00\x00\x00\x00\x00\x00\xf8\x7f",
    "point": b"\x2b\x31abcdefgh\x39abcdefgh\x2c",
    "user": b"\x43\x4a\x01a\x52\x01b\x90\x01\x00\x44",
    "key": b"\x63\x6a\x01a\x73\x7a\x01K\x80\x01\x05\x74\x73\x7a\x01K\x8a\x01\x01n\x74\x64",
    "two": b"\x08\x07\x1a\x01x",
    "unknown": b"\xa0\x06\x07",
}
_MEANINGS = (b"", b"\x08\x07", b"\x08\x0e\x12\x04ZLIB", b"\x08\x12", b"\x08\x18")

ENTITY_PROTOS = (
    *(
        b"".join(
            field(number, _property(name.encode(), value, multiple=number == 15, meaning=meaning))
            for number in (PROPERTY, RAW_PROPERTY)
            for name, value in _VALUES.items()
        )
        for meaning in _MEANINGS
    ),
    # A list whose properties do not stand together, and a long one.
    b"".join(
        field(PROPERTY, _property(bytes([97 + number % 3]), b"\x08\x07", multiple=True))
        for number in range(7)
    ),
    field(PROPERTY, _property(b"n" * 1501, b"\x08\x07")) + field(PROPERTY, _property(b"", b"")),
    # Encodings that protobuf writes in another way: raw properties first, and two keys.
    field(RAW_PROPERTY, _property(b"a", b"")) + field(PROPERTY, _property(b"b", b"")),
    field(KEY, b"\x6a\x01a") * 2 + field(PROPERTY, field(5, b"\x08\x07") + field(3, b"a")),
    field(PROPERTY, _property(b"a", b"\x08")),
)
"""More of them, to fuzz from: values of each type with several meanings, lists, odd encodings."""


def assert_same_index(raw: bytes) -> None:
    """Check that native finds in any bytes what protobuf finds in them, or nothing.

    Args:
        raw: bytes that are taken for a serialised ``EntityProto``.
    """
    native, pure = NATIVE.of(raw), PURE.of(raw)
    if native is None:
        return
    found = described(native)
    values = [plain_values(native, name) for name in native.names]
    if pure is None:
        return
    assert found == described(pure)
    for name, made in zip(native.names, values, strict=True):
        for one, other in zip(made, plain_values(pure, name), strict=True):
            assert one == other or _UNDECODED_TEXT in (one, other)


def plain_values(index: Any, name: str) -> list[str]:
    """Return the plain values of a name as texts, which tell types, and one number from another."""
    return [
        repr(read)
        for text in (True, False)
        for read in (index.value(name, text), index.contents(name, 24, text))
    ]


def described(index: Any) -> Any:
    """Return everything that an index tells, but for values."""
    filled: dict[str, Any] = {}
    index.fill(filled)
    assert tuple(filled) == index.names
    assert all(value is UNDECODED for value in filled.values())
    return (
        index.raw,
        index.names,
        index.key(),
        index.raw_names(),
        [index.has_meaning(number) for number in (15, 18)],
        [(index.properties(name), _merged(index.fields([name]))) for name in index.names],
        _merged(index.fields(index.names)),
        index.layouts(),
        index.entry_names(),
    )


def _merged(fields: bytes) -> bytes:
    # Their tags and lengths may be as they came: protobuf merges them all the same.
    merged: bytes = Parts.FromString(fields).SerializeToString()
    return merged
