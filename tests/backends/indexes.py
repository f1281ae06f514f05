"""The indexes of an ``EntityProto`` that both backends make, side by side."""

from __future__ import annotations

import importlib
from typing import Any

from lazyentity.codec.entityproto import KEY, PROPERTY, RAW_PROPERTY
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


def assert_same_index(raw: bytes) -> None:
    """Check that native finds in any bytes what protobuf finds in them, or nothing.

    Args:
        raw: bytes that are taken for a serialised ``EntityProto``.
    """
    native, pure = NATIVE.of(raw), PURE.of(raw)
    if native is None:
        return
    found = described(native)
    for name in native.names:
        for text in (True, False):
            native.value(name, text)
            native.contents(name, 24, text)
    if pure is not None:
        assert found == described(pure)


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
        [(index.properties(name), index.fields([name])) for name in index.names],
        index.fields(index.names),
        index.forms(),
        index.entry_names(),
    )
