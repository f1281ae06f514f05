"""Layouts of the properties of a serialised ``EntityProto``: four bytes for each.

A layout is all of a property but its name and the contents of its value:

- the tag of its field;
- its meaning;
- flags;
- the kind of its contents.
"""

from __future__ import annotations

from typing import Final

SIZE: Final = 4
"""The bytes of a layout."""

PROPERTY_TAG: Final = 0x72
RAW_PROPERTY_TAG: Final = 0x7A

OTHER_MEANING: Final = 0xFF
"""Stands for a meaning that does not fit into the byte."""

MULTIPLE: Final = 1
COMPRESSED: Final = 2
"""The ``meaning_uri`` is that of compressed values."""
OTHER_URI: Final = 4

NULL: Final = 0
INTEGER: Final = 0x08
BOOLEAN: Final = 0x10
STRING: Final = 0x1A
DOUBLE: Final = 0x21
POINT: Final = 0x2B
REFERENCE: Final = 0x63
"""A key with a path, whose elements have an id, a name or neither, and without a database."""
OTHER: Final = 0xFF
"""Anything else, in the property or in its value: unknown fields, several values."""

COMPRESSED_URI: Final = b"ZLIB"

_MOST_BYTES_OF_LENGTH: Final = 5


def layout(field: int, meaning: int, flags: int, contents: int) -> bytes:
    """Return the layout of a property."""
    return bytes((field, meaning, flags, contents))


def layout_of(serialised: bytes, field: int) -> bytes:
    """Return the layout of a property.

    Args:
        serialised: the property, in the encoding of which there are indexes.
        field: the tag of its field.
    """
    return layout(field, *_parts(serialised))


def _parts(raw: bytes) -> tuple[int, int, int]:
    """Return the meaning, the flags and the kind of the contents."""
    meaning, flags, at = 0, 0, 0
    if raw[at] == 0x08:
        meaning, at = _varint(raw, at + 1)
        # A property without a meaning must not have the field.
        meaning = meaning if 0 < meaning < OTHER_MEANING else OTHER_MEANING
    if raw[at] == 0x12:
        uri, at = _span(raw, at + 1)
        flags |= COMPRESSED if uri == COMPRESSED_URI else OTHER_URI
    # The name follows: the index has checked that.
    _, at = _span(raw, at + 1)
    if len(raw) - at < 4 or raw[at] != 0x20 or raw[at + 1] > 1 or raw[at + 2] != 0x2A:
        return meaning, flags, OTHER
    flags |= raw[at + 1]
    value, at = _span(raw, at + 3)
    if at != len(raw):
        return meaning, flags, OTHER
    try:
        return meaning, flags, _contents(value)
    except IndexError:
        return meaning, flags, OTHER


def _contents(value: bytes) -> int:
    if not value:
        return NULL
    kind = value[0]
    if kind in (INTEGER, BOOLEAN):
        end = _varint(value, 1)[1]
    elif kind == STRING:
        end = _span(value, 1)[1]
    elif kind == DOUBLE:
        end = 9
    elif kind == POINT:
        end = 20 if (value[1], value[10], value[19]) == (0x31, 0x39, 0x2C) else 0
    elif kind == REFERENCE:
        end = _reference(value)
    else:
        end = 0
    return kind if end == len(value) else OTHER


def _reference(value: bytes) -> int:
    """Return where a key in a value ends; 0, if the key is not of the one form."""
    if value[1] != 0x6A:
        return 0
    at = first = _span(value, 2)[1]
    while value[at] == 0x73:
        if value[at + 1] != 0x7A:
            return 0
        _, at = _span(value, at + 2)
        if value[at : at + 2] == b"\x80\x01":
            _, at = _varint(value, at + 2)
        elif value[at : at + 2] == b"\x8a\x01":
            _, at = _span(value, at + 2)
        if value[at] != 0x74:
            return 0
        at += 1
    if at == first:
        return 0
    if value[at : at + 2] == b"\xa2\x01":
        _, at = _span(value, at + 2)
    return at + 1 if value[at] == 0x64 else 0


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while raw[at] >= 0x80:
        number |= (raw[at] & 0x7F) << shift
        shift += 7
        at += 1
    if shift > 63 or (shift == 63 and raw[at] > 1):
        raise IndexError("a number of more than 64 bits")
    return number | raw[at] << shift, at + 1


def _span(raw: bytes, at: int) -> tuple[bytes, int]:
    size, start = _varint(raw, at)
    # As protobuf, which reads 32 bits.
    if start - at > _MOST_BYTES_OF_LENGTH:
        raise IndexError("a length of too many bytes")
    return raw[start : start + size], start + size
