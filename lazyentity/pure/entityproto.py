"""The pure backend's index of a serialised ``EntityProto`` by the names of its properties.

Protobuf's own parser finds the names. It splits the entity into its properties when one of them is
read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, ClassVar

from google.protobuf.message import DecodeError

from lazyentity.codec.entityproto import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    KIND,
    STRING,
    Meanings,
    Names,
    Parts,
    Values,
)
from lazyentity.codec.property_layout import PROPERTY_TAG, RAW_PROPERTY_TAG, layout_of
from lazyentity.codec.undecoded import UNDECODED, undecoded_template
from lazyentity.pure.index import NOT_KEPT, ParseSlot, empty_parse_slot, keeper
from lazyentity.pure.shapes import EMPTY, Shape, known_shape, new_shape

_parse_names = Names.FromString
_parse_meanings = Meanings.FromString
_parse_parts = Parts.FromString
_parse_values = Values.FromString

_keep = keeper(64)

_PLAIN = frozenset((BOOLEAN, DOUBLE, INTEGER, STRING))

# Clients refuse empty names and those that are longer than 1500 bytes when they read a value. A
# character has at most four.
_LONGEST_NAME = 1500 // 4


class PropertyIndex:
    """As :class:`lazyentity._backend.wireformats.PropertyIndex`."""

    __slots__ = ("_is_grouped", "_split", "_values", "raw", "shape")

    takes: ClassVar[bool] = False

    def __init__(self) -> None:
        self.raw = b""
        self.shape: Shape = EMPTY
        self._split: ParseSlot = empty_parse_slot()
        # The properties as messages of Values, in wire order.
        self._values: ParseSlot = empty_parse_slot()
        # Whether the properties of each name stand together; None as long as it is unknown.
        self._is_grouped: bool | None = None

    @classmethod
    def of(cls, raw: bytes) -> PropertyIndex | None:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.of`."""
        try:
            parsed = _parse_names(raw)
        except DecodeError:
            return None
        # The names, one after the other.
        parsed.DiscardUnknownFields()
        signature = parsed.SerializeToString()
        shape = known_shape(signature) or _new_shape(signature, parsed)
        if shape is None:
            return None
        made = cls()
        made.raw = raw
        made.shape = shape
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """As :attr:`lazyentity._backend.wireformats.PropertyIndex.names`."""
        return tuple(self.shape.ordinals)

    def fill(self, storage: dict[Any, Any]) -> None:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.fill`."""
        # The method of the base: a subclass may refuse the sentinel.
        dict.update(storage, self.shape.template or undecoded_template(self.shape.ordinals))

    def properties(self, name: str) -> list[bytes]:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.properties`."""
        try:
            properties, _ = self._split.parsed[0]
        except IndexError:
            properties, _ = self._parts()
        ordinals = self.shape.ordinals
        if len(ordinals) == len(properties) and name in ordinals:
            return [properties[ordinals[name]]]
        return [properties[ordinal] for ordinal in self._ordinals_of(name)]

    def value(self, name: str, text: bool) -> Any:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.value`."""
        values = self._values
        try:
            messages = values.parsed.pop()
        except IndexError:
            messages = self._messages()
        try:
            return self._value(messages, name, text)
        finally:
            values.parsed.append(messages)

    def _value(self, messages: list[Any], name: str, text: bool) -> Any:
        if not messages or not 0 < len(name) <= _LONGEST_NAME:
            return UNDECODED
        ordinals = self.shape.ordinals
        if len(ordinals) == len(messages):
            ordinal = ordinals.get(name)
            if ordinal is None:
                return UNDECODED
            message = messages[ordinal]
            if message.HasField("meaning"):
                return UNDECODED
            value = _plain(message.value, text)
            return [value] if message.multiple and value is not UNDECODED else value
        made = []
        found = self._ordinals_of(name)
        for ordinal in found:
            message = messages[ordinal]
            value = UNDECODED if message.HasField("meaning") else _plain(message.value, text)
            if value is UNDECODED or not (message.multiple or len(found) == 1):
                return UNDECODED
            if not message.multiple:
                return value
            made.append(value)
        return made or UNDECODED

    def contents(self, name: str, refused: int, text: bool) -> Any:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.contents`."""
        values = self._values
        try:
            messages = values.parsed.pop()
        except IndexError:
            messages = self._messages()
        try:
            return self._contents(messages, name, refused, text)
        finally:
            values.parsed.append(messages)

    def _contents(self, messages: list[Any], name: str, refused: int, text: bool) -> Any:
        if not messages or not 0 < len(name) <= _LONGEST_NAME:
            return UNDECODED
        ordinals = self.shape.ordinals
        ordinal = ordinals.get(name)
        if ordinal is None or (len(ordinals) != len(messages) and len(self._ordinals_of(name)) > 1):
            return UNDECODED
        message = messages[ordinal]
        if message.HasField("meaning_uri") or message.meaning == refused:
            return UNDECODED
        return _plain(message.value, text)

    def take(
        self, storage: dict[Any, Any], stored: Any, name: str, refused: int | None, kind: Any
    ) -> Any:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.take`, without a value."""
        return UNDECODED

    def raw_names(self) -> frozenset[str]:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.raw_names`."""
        return frozenset(each.name.decode() for each in _parse_names(self.raw).raw_property)

    def has_meaning(self, number: int) -> bool:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.has_meaning`."""
        # Parsing takes long, and hardly an entity has it. A tag has one byte, as protobuf writes
        # it; the first byte of a number has its lowest bits.
        low = number & 0x7F
        if bytes((0x08, low)) not in self.raw and bytes((0x08, low | 0x80)) not in self.raw:
            return False
        parsed = _parse_meanings(self.raw)
        return any(
            each.meaning == number
            for properties in (parsed.property, parsed.raw_property)
            for each in properties
        )

    def fields(self, names: Iterable[str]) -> bytes:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.fields`."""
        return b"".join(map(self._fields_of, names))

    def _fields_of(self, name: str) -> bytes:
        properties, indexed = self._parts()
        ordinals = self._ordinals_of(name)
        parts = Parts(
            property=[properties[ordinal] for ordinal in ordinals if ordinal < indexed],
            raw_property=[properties[ordinal] for ordinal in ordinals if ordinal >= indexed],
        )
        serialised: bytes = parts.SerializeToString()
        return serialised

    def layouts(self) -> bytes:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.layouts`."""
        properties, indexed = self._parts()
        return b"".join(
            layout_of(each, PROPERTY_TAG if ordinal < indexed else RAW_PROPERTY_TAG)
            for ordinal, each in enumerate(properties)
        )

    def entry_names(self) -> list[str]:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.entry_names`."""
        parsed = _parse_names(self.raw)
        return [each.name.decode() for each in (*parsed.property, *parsed.raw_property)]

    def key(self) -> bytes:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.key`."""
        # Protobuf merges messages that are joined.
        return b"".join(_parse_parts(self.raw).key)

    def path(self) -> tuple[bytes, bytes, tuple[tuple[bytes, int | bytes | None], ...]] | None:
        """As :meth:`lazyentity._backend.wireformats.PropertyIndex.path`."""
        return None

    def _ordinals_of(self, name: str) -> list[int]:
        ordinals, names = self.shape.ordinals, self.shape.names
        if name not in ordinals:
            return []
        first = last = ordinals[name]
        if len(ordinals) == len(names):
            return [last]
        if self._is_grouped is None:
            self._is_grouped = sum(1 for _ in itertools.groupby(names)) == len(ordinals)
        if not self._is_grouped:
            return [ordinal for ordinal, each in enumerate(names) if each == name]
        # Back from the last one: a list is read in time that depends on its own length alone.
        while first > 0 and names[first - 1] == name:
            first -= 1
        return list(range(first, last + 1))

    def _messages(self) -> list[Any]:
        """Parse the values; none, if one is malformed or has several fields.

        No other reader has these messages: see :class:`~lazyentity.pure.index.ParseSlot`.
        """
        if self._values.parsed is NOT_KEPT:
            self._values.parsed = []
            _keep(self._values)
        try:
            parsed = _parse_values(self.raw)
        except DecodeError:
            return []
        if parsed.ByteSize() != len(self.raw):
            return []
        return [*parsed.property, *parsed.raw_property]

    def _parts(self) -> tuple[list[bytes], int]:
        """Return all serialised properties, and how many of them are not raw."""
        split = self._split
        kept = split.parsed
        try:
            parts: tuple[list[bytes], int] = kept[0]
        except IndexError:
            parsed = _parse_parts(self.raw)
            parts = [*parsed.property, *parsed.raw_property], len(parsed.property)
            if kept is NOT_KEPT:
                kept = split.parsed = []
                _keep(split)
            kept[:] = (parts,)
        return parts


def _new_shape(signature: bytes, parsed: Any) -> Shape | None:
    """Return the shape of an entity, given its names as a message; None, if a name is invalid."""
    properties = [*parsed.property, *parsed.raw_property]
    try:
        names = tuple([each.name.decode() for each in properties])
    except UnicodeDecodeError:
        return None
    if "" in names and not all(each.HasField("name") for each in properties):
        return None
    return new_shape(signature, names)


def _plain(message: Any, text: bool) -> Any:
    """Return the value that a message has, if it is a plain one."""
    kind = message.WhichOneof(KIND)
    if kind == STRING and text:
        try:
            return message.string.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return UNDECODED
    if kind in _PLAIN:
        return getattr(message, kind)
    return None if kind is None else UNDECODED
