"""The native index of an ``EntityProto``, and what protobuf finds in the same bytes."""

from __future__ import annotations

import importlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from lazyentity.codec.entityproto import KEY, PROPERTY, RAW_PROPERTY, Parts
from lazyentity.codec.undecoded import UNDECODED

NATIVE: Any = importlib.import_module("lazyentity.native.entityproto").PropertyIndex

_SCHEMA = """
Property meaning:1:INT32 meaning_uri:2:BYTES name:3:BYTES multiple:4:BOOL value:5:Value
Value integer:1:INT64 boolean:2:BOOL string:3:BYTES double:4:DOUBLE
Value point:5:Group user:8:Group reference:12:Group
Group
"""
"""The name of a message, then for each field its name, number and type."""


def _property_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="e.proto", package="e", syntax="proto2")
    messages: dict[str, Any] = {}
    for line in _SCHEMA.strip().splitlines():
        message, *fields = line.split()
        if message not in messages:
            messages[message] = file.message_type.add(name=message)
        for each in fields:
            name, number, kind = each.split(":")
            added = messages[message].field.add(name=name, number=int(number))
            added.label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
            if kind.isupper():
                added.type = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{kind}")
            else:
                is_group = kind == "Group"
                added.type_name = f".e.{kind}"
                added.type = (
                    descriptor_pb2.FieldDescriptorProto.TYPE_GROUP
                    if is_group
                    else descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
                )
            if message == "Value":
                added.oneof_index = 0
    messages["Value"].oneof_decl.add(name="kind")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("e.Property"))


PROPERTY_MESSAGE = _property_class()


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
    native = NATIVE.from_bytes(raw)
    if native is None:
        return
    found = described(native)
    values = {name: plain_values(native, name) for name in native.names}
    parts = Parts.FromString(raw)
    entries = [*parts.property, *parts.raw_property]
    try:
        messages = [PROPERTY_MESSAGE.FromString(each) for each in entries]
    except DecodeError:
        # A value is malformed: nobody has read it yet.
        return
    names = [each.name.decode() for each in messages]
    by_name = {
        name: [each for each, other in zip(entries, names, strict=True) if other == name]
        for name in names
    }
    assert found == (
        raw,
        tuple(by_name),
        b"".join(parts.key),
        frozenset(names[len(parts.property) :]),
        [any(each.meaning == number for each in messages) for number in (15, 18)],
        by_name,
        (sorted(parts.property), sorted(parts.raw_property)),
        names,
    )
    for name, made in values.items():
        several = [each for each in messages if each.name.decode() == name]
        for text, (value, contents) in zip((True, False), made, strict=True):
            assert value == _UNDECODED_TEXT or value == repr(_value(several, text))
            assert contents == _UNDECODED_TEXT or contents == repr(_plain(several[-1].value, False))


def _value(messages: list[Any], text: bool) -> Any:
    """Return the value of a name, or the list."""
    made = [_plain(each.value, text) for each in messages]
    return made if messages[0].multiple else made[0]


def _plain(message: Any, text: bool) -> Any:
    kind = message.WhichOneof("kind")
    if kind is None:
        return None
    value = getattr(message, kind)
    if kind == "string" and text:
        return value.decode("utf-8", "surrogatepass")
    return value


def plain_values(index: Any, name: str) -> list[tuple[str, str]]:
    """Return the plain values of a name as texts, which tell types, and one number from another."""
    return [
        (repr(index.value(name, text)), repr(index.contents(name, 24))) for text in (True, False)
    ]


def described(index: Any) -> Any:
    """Return everything that an index tells, but for values and layouts."""
    filled: dict[str, Any] = {}
    index.fill(filled)
    assert tuple(filled) == index.names
    assert all(value is UNDECODED for value in filled.values())
    assert len(index.layouts()) == 4 * len(index.entry_names())
    fields = Parts.FromString(index.fields(index.names))
    return (
        index.raw,
        index.names,
        index.key(),
        index.raw_names(),
        [index.has_meaning(number) for number in (15, 18)],
        {name: index.properties(name) for name in index.names},
        (sorted(fields.property), sorted(fields.raw_property)),
        index.entry_names(),
    )
