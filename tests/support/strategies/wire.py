"""Protobuf's wire format, written by hand.

A serialiser only writes the canonical form; the tests need every legal one.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

VARINT, FIXED64, DELIMITED, START_GROUP, END_GROUP, FIXED32 = range(6)

# Parsers refuse tags and lengths in more bytes than 32 bits need. Varints may have as many as
# 64 bits do.
_MOST_BYTES_32 = 5
_MOST_BYTES_64 = 10


@functools.lru_cache(maxsize=4096)
def varint(value: int, padding: int = 0, most: int = _MOST_BYTES_64) -> bytes:
    """Encode ``value``, negative ones as 64-bit two's complement.

    Args:
        value: the number to encode.
        padding: the number of redundant bytes, as far as ``most`` allows.
        most: the most bytes that a parser accepts in this place.
    """
    value &= 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while True:
        low, value = value & 0x7F, value >> 7
        if not value:
            break
        encoded.append(low | 0x80)
    padding = min(padding, most - len(encoded) - 1)
    if padding > 0:
        encoded.append(low | 0x80)
        encoded.extend(b"\x80" * (padding - 1))
        low = 0
    encoded.append(low)
    return bytes(encoded)


class Encodable(Protocol):
    """A field, or bytes in place of a field."""

    def encode(self) -> bytes: ...


class Encoded(NamedTuple):
    """Bytes in the place of a field."""

    encoded: bytes

    def encode(self) -> bytes:
        return self.encoded


class Field(NamedTuple):
    """One occurrence of a field.

    Attributes:
        number: the field's number.
        wire_type: how ``payload`` is framed.
        payload: the bytes between tag (and length) and the next field (or the end of a group).
        padding: redundant bytes in tag and length.
    """

    number: int
    wire_type: int
    payload: bytes
    padding: int = 0

    def encode(self) -> bytes:
        framed = self._tag(self.wire_type)
        if self.wire_type == DELIMITED:
            framed += varint(len(self.payload), self.padding, _MOST_BYTES_32)
        framed += self.payload
        if self.wire_type == START_GROUP:
            framed += self._tag(END_GROUP)
        return framed

    def _tag(self, wire_type: int) -> bytes:
        return varint(self.number << 3 | wire_type, self.padding, _MOST_BYTES_32)


def integer(number: int, value: int, padding: int = 0) -> Field:
    return Field(number, VARINT, varint(value, padding))


def double(number: int, value: float) -> Field:
    return Field(number, FIXED64, struct.pack("<d", value))


def delimited(number: int, payload: bytes | str) -> Field:
    return Field(number, DELIMITED, payload.encode() if isinstance(payload, str) else payload)


def message(number: int, *fields: Field) -> Field:
    return Field(number, DELIMITED, encode(fields))


BALLAST = delimited(1000, b"-" * 2000)
"""A field unknown to every message, for large entities may be decoded in another way than small."""


def encode(fields: Iterable[Encodable]) -> bytes:
    """Encode a message that consists of ``fields``, in this order."""
    return b"".join(field.encode() for field in fields)


_BEYOND_32 = (0x08, 0x0F, 0x10, 0x7F)
_BEYOND_64 = (0x00, 0x01, 0x02, 0x03, 0x7F)


def _forms(number: int, most: int, last: Iterable[int]) -> Iterator[bytes]:
    """Encode a number in more bytes than it needs, and in ``most`` bytes, the last one another."""
    for size in range(len(varint(number)) + 1, _MOST_BYTES_64 + 2):
        yield varint(number, size, size)
    full = varint(number, most, most)
    for byte in last:
        yield full[:-1] + bytes([byte])


def varint_forms(field: Field) -> Iterator[Encoded]:
    """Encode a field with its tag, its length or its number in each other form.

    Parsers accept some of them, and refuse or cut off numbers of too many bytes or bits.
    """
    number, wire_type, payload, _ = field
    tag = varint(number << 3 | wire_type)
    body = field._replace(padding=0).encode()[len(tag) :]
    yield Encoded(bytes([wire_type]) + body)
    for form in _forms(number << 3 | wire_type, _MOST_BYTES_32, _BEYOND_32):
        yield Encoded(form + body)
    if wire_type == DELIMITED:
        for form in _forms(len(payload), _MOST_BYTES_32, _BEYOND_32):
            yield Encoded(tag + form + payload)
    elif wire_type == START_GROUP:
        for form in _forms(number << 3 | END_GROUP, _MOST_BYTES_32, _BEYOND_32):
            yield Encoded(tag + payload + form)
    elif wire_type == VARINT:
        value = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(payload))
        for form in _forms(value, _MOST_BYTES_64, _BEYOND_64):
            yield Encoded(tag + form)
