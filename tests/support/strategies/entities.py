"""Arbitrary serialised entities, in canonical and in legal but unusual encodings.

A message is drawn as a list of fields, is then rearranged in ways that protobuf gives a meaning to,
and is only then encoded.

Drawing takes most of the time of the tests that draw entities. So the strategies are made once, and
a few choices are drawn as one.
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity as entity_pb2
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.support.strategies import schema, wire
from tests.support.strategies.schema import (
    ARRAY,
    ENTITY,
    ENTRY,
    GEO_POINT,
    KEY,
    PARTITION,
    PATH_ELEMENT,
    TIMESTAMP,
    VALUE,
)
from tests.support.strategies.wire import Field

_T = TypeVar("_T")
Fields = list[Field]


@dataclass(frozen=True)
class Grammar:
    """Which messages are drawn.

    Attributes:
        odd: with legal encodings that no serialiser writes.
        faulty: with keys and values that the stock client refuses to convert.
        nan: with doubles that are not equal to themselves.
        depth: the most levels of entities and arrays in a property.
        properties: the most properties that an entity has at the top.
    """

    odd: bool = True
    faulty: bool = False
    nan: bool = True
    depth: int = 2
    properties: int = 9

    @property
    def inner(self) -> Grammar:
        """The grammar of the next level down."""
        return replace(self, depth=self.depth - 1, properties=3)


def entities(grammar: Grammar) -> SearchStrategy[bytes]:
    """Serialised ``google.datastore.v1.Entity`` messages. Protobuf's parser accepts all of them."""
    drawn = _drawn_entity(grammar)
    return drawn if grammar.faulty else drawn.filter(_converts)


def _converts(raw: bytes) -> bool:
    # Merging two valid keys or timestamps may make one that is not.
    try:
        helpers.entity_from_protobuf(entity_pb2.Entity.pb().FromString(raw))
    except (ValueError, OverflowError):
        return False
    return True


@st.composite
def _drawn_entity(draw: DrawFn, grammar: Grammar) -> bytes:
    style = draw(_STYLE) if grammar.odd else "canonical"
    fields = _rearranged(draw, grammar, ENTITY, _entity, style)
    if draw(_BOOLEAN):
        fields.append(wire.BALLAST)
    return wire.encode(fields)


# Rearranging.

_STYLES = (*["canonical"] * 12, "merged", "shuffled", "unknown fields", "redundant bytes")
_STYLE = st.sampled_from(_STYLES)
# Whether a message field comes in two parts, one in twenty times, and its style.
_FORM = st.sampled_from([(part == 19, style) for part in range(20) for style in _STYLES])
_BOOLEAN = st.booleans()
_ONE_OR_TWO = st.integers(1, 2)
_PADDING = st.integers(1, 4)


@functools.cache
def _up_to(most: int) -> SearchStrategy[int]:
    return st.integers(0, most)


@functools.cache
def _orders(count: int) -> SearchStrategy[list[int]]:
    return st.permutations(range(count))


def _rearranged(
    draw: DrawFn,
    grammar: Grammar,
    message: schema.Schema,
    draw_fields: Callable[[DrawFn, Grammar], Fields],
    style: str,
) -> Fields:
    """Draw the fields of a message in an arrangement that has a defined meaning."""
    fields = draw_fields(draw, grammar)
    match style:
        case "merged":
            # Everything may be there twice: of a scalar or a oneof the last counts, messages merge.
            fields += draw_fields(draw, grammar)
        case "shuffled":
            fields = [fields[position] for position in draw(_orders(len(fields)))]
        case "unknown fields":
            for _ in range(draw(_ONE_OR_TWO)):
                position = draw(_up_to(len(fields)))
                fields.insert(position, _unknown_field(draw, message))
        case "redundant bytes":
            padding = draw(_PADDING)
            fields = [field._replace(padding=padding) for field in fields]
    return fields


def _message(
    draw: DrawFn,
    grammar: Grammar,
    number: int,
    message: schema.Schema,
    draw_fields: Callable[[DrawFn, Grammar], Fields],
    *,
    repeated: bool = False,
) -> Fields:
    """Draw a message field. Unless it is repeated, it may come in two parts, to be merged."""
    in_parts, style = draw(_FORM) if grammar.odd else (False, "canonical")
    fields = _rearranged(draw, grammar, message, draw_fields, style)
    if in_parts and not repeated:
        cut = draw(_up_to(len(fields)))
        return [wire.message(number, *fields[:cut]), wire.message(number, *fields[cut:])]
    return [wire.message(number, *fields)]


_WIRE_TYPES = (wire.VARINT, wire.FIXED64, wire.DELIMITED, wire.START_GROUP, wire.FIXED32)
_UINT64 = st.integers(0, 2**64 - 1)
_EIGHT_BYTES = st.binary(min_size=8, max_size=8)
_FOUR_BYTES = st.binary(min_size=4, max_size=4)
_FEW_BYTES = st.binary(max_size=5)
_INSIDE_A_GROUP = st.permutations(
    [wire.integer(1, 7), Field(2, wire.START_GROUP, b""), wire.delimited(3, "in")]
)


@functools.cache
def _unknown_tags(message: schema.Schema) -> SearchStrategy[tuple[int, int]]:
    """Numbers that the schema does not have, and those that it has, with another wire type."""
    numbers = (*message.wire_types, 99, 2**29 - 1)
    tags = itertools.product(numbers, _WIRE_TYPES)
    return st.sampled_from([tag for tag in tags if message.wire_types.get(tag[0]) != tag[1]])


def _unknown_field(draw: DrawFn, message: schema.Schema) -> Field:
    number, wire_type = draw(_unknown_tags(message))
    match wire_type:
        case wire.VARINT:
            payload = wire.varint(draw(_UINT64))
        case wire.FIXED64:
            payload = draw(_EIGHT_BYTES)
        case wire.FIXED32:
            payload = draw(_FOUR_BYTES)
        case wire.DELIMITED:
            # Packed integers, where a known field is a repeated or single integer.
            payload = draw(_FEW_BYTES)
        case _:
            payload = wire.encode(draw(_INSIDE_A_GROUP))
    return Field(number, wire_type, payload)


# Keys.

_INT64 = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, 1, -1, 127, 128, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]),
)
_KINDS = st.sampled_from(["Kind", "k", "Größe", "種"])
_KEY_NAME = st.text(min_size=1, max_size=5)
_NON_ZERO = _INT64.filter(bool)


# The length of the path, and which of its elements are incomplete.
_PARTIAL = ("no", "no", "no", "last", "all")
_PATH = st.sampled_from(list(itertools.product([1, 1, 2, 3], _PARTIAL)))
_FAULTY_PATH = st.sampled_from(list(itertools.product([1, 1, 2, 3, 0], _PARTIAL)))
_PARTITION_NAMES = (None, None, "", "n", "名")
# Of the project, the database and the namespace.
_PARTITION = st.sampled_from(
    list(itertools.product(["p", "projekt-ü"], _PARTITION_NAMES, _PARTITION_NAMES))
)


def _key(draw: DrawFn, grammar: Grammar) -> Fields:
    length, partial = draw(_FAULTY_PATH if grammar.faulty else _PATH)
    fields = _message(draw, grammar, KEY.partition_id, schema.PARTITION, _partition)
    for ordinal in range(length):
        incomplete = (
            partial == "last" if ordinal == length - 1 else grammar.faulty and partial == "all"
        )
        element = _incomplete_element if incomplete else _complete_element
        fields += _message(draw, grammar, KEY.path, schema.PATH_ELEMENT, element, repeated=True)
    return fields


def _partition(draw: DrawFn, grammar: Grammar) -> Fields:
    project, *names = draw(_PARTITION)
    fields = [wire.delimited(PARTITION.project_id, project)]
    if grammar.faulty and draw(_up_to(9)) == 9:
        fields.clear()
    for number, name in zip((PARTITION.database_id, PARTITION.namespace_id), names, strict=True):
        if name is not None:
            fields.append(wire.delimited(number, name))
    return fields


def _incomplete_element(draw: DrawFn, grammar: Grammar) -> Fields:
    return [wire.delimited(PATH_ELEMENT.kind, draw(_KINDS))]


def _complete_element(draw: DrawFn, grammar: Grammar) -> Fields:
    fields = _incomplete_element(draw, grammar)
    if draw(_BOOLEAN):
        return [*fields, wire.integer(PATH_ELEMENT.id, draw(_NON_ZERO))]
    return [*fields, wire.delimited(PATH_ELEMENT.name, draw(_KEY_NAME))]


# Values.

_TIMES = st.one_of(
    st.integers(-62_135_596_800, 253_402_300_799),
    # Stock converts through a float number of microseconds; of these some are beyond 2**53.
    st.sampled_from([0, -1, 1, -62_135_596_800, 253_402_300_000, 9_007_199_255, -9_007_199_255]),
)
_NANOS = st.one_of(
    st.integers(0, 999_999_999), st.sampled_from([0, 1, 999, 1000, 999_999_999, -1, -(2**31)])
)
_ANY_NANOS = st.one_of(_NANOS, st.sampled_from([1_000_000_000, 2**31 - 1]))
_TEXT = st.text(max_size=6)
_BLOB = st.binary(max_size=6)
_LONG = st.sampled_from([126, 127, 128, 129, 16_383, 16_384, 20_000])
_DOUBLES = st.one_of(
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, float("inf"), float("-inf"), 5e-324]),
)
_NANS = st.sampled_from([0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) | 1, (0x7FF0 << 48) | 1])
_MEANINGS = st.sampled_from([None] * 6 + [0, 9, 15, 20, -1, 2**31 - 1, 2**32 + 5])
_FLAGS = st.sampled_from([None, None, None, False, True])


def _double(draw: DrawFn, grammar: Grammar, number: int) -> Field:
    if grammar.nan and draw(_up_to(7)) == 7:
        return Field(number, wire.FIXED64, struct.pack("<Q", draw(_NANS)))
    return wire.double(number, draw(_DOUBLES))


def _timestamp(draw: DrawFn, grammar: Grammar) -> Fields:
    faulty = grammar.faulty and draw(_BOOLEAN)
    seconds = draw(_INT64 if faulty else _TIMES)
    nanos = draw(_ANY_NANOS if faulty else _NANOS)
    fields = [wire.integer(TIMESTAMP.seconds, seconds), wire.integer(TIMESTAMP.nanos, nanos)]
    # A serialiser leaves zeroes out.
    return [field for field in fields if field.payload != b"\0"]


def _geo_point(draw: DrawFn, grammar: Grammar) -> Fields:
    return [
        _double(draw, grammar, GEO_POINT.latitude),
        _double(draw, grammar, GEO_POINT.longitude),
    ]


def _array(draw: DrawFn, grammar: Grammar) -> Fields:
    flag = draw(_FLAGS)

    def element(draw: DrawFn, grammar: Grammar) -> Fields:
        return _value(draw, grammar, draw(_FLAGS) if grammar.faulty else flag)

    fields: Fields = []
    for _ in range(draw(_up_to(3))):
        fields += _message(draw, grammar.inner, ARRAY.values, schema.VALUE, element, repeated=True)
    return fields


def _text(draw: DrawFn) -> str:
    if draw(_up_to(24)) == 24:
        return "é" + "x" * (draw(_LONG) - 2)
    return draw(_TEXT)


_LEAVES = (
    "null_value",
    "boolean_value",
    "integer_value",
    "double_value",
    "timestamp_value",
    "key_value",
    "string_value",
    "blob_value",
    "geo_point_value",
)
_NESTED = ("entity_value", "array_value")
_MEMBERS = st.sampled_from([*_LEAVES, *_NESTED, *_NESTED])
_LEAF_MEMBERS = st.sampled_from(_LEAVES)
_BOOLEANS = st.sampled_from([0, 1, 2**63])
_INTEGER_PADDING = st.sampled_from([0, 0, 0, 3])
_NULLS = st.sampled_from([0, 0, 1, -1])


def _member(draw: DrawFn, grammar: Grammar) -> Fields:
    """Draw one case of the oneof ``value_type``."""
    name = draw(_MEMBERS if grammar.depth > 0 else _LEAF_MEMBERS)
    number: int = getattr(VALUE, name)
    match name:
        case "null_value":
            return [wire.integer(number, draw(_NULLS))]
        case "boolean_value":
            return [wire.integer(number, draw(_BOOLEANS))]
        case "integer_value":
            return [wire.integer(number, draw(_INT64), draw(_INTEGER_PADDING))]
        case "double_value":
            return [_double(draw, grammar, number)]
        case "string_value":
            return [wire.delimited(number, _text(draw))]
        case "blob_value":
            return [wire.delimited(number, draw(_BLOB))]
        case "timestamp_value":
            return _message(draw, grammar, number, schema.TIMESTAMP, _timestamp)
        case "key_value":
            return _message(draw, grammar, number, schema.KEY, _key)
        case "geo_point_value":
            return _message(draw, grammar, number, schema.GEO_POINT, _geo_point)
        case "entity_value":
            return _message(draw, grammar.inner, number, schema.ENTITY, _entity)
        case _:
            return _message(draw, grammar, number, schema.ARRAY, _array)


def _value(draw: DrawFn, grammar: Grammar, flag: bool | None) -> Fields:
    unset = grammar.faulty and draw(_up_to(11)) == 11
    fields = [] if unset else _member(draw, grammar)
    meaning = draw(_MEANINGS)
    if meaning is not None:
        fields.append(wire.integer(VALUE.meaning, meaning))
    if flag is not None:
        fields.append(wire.integer(VALUE.exclude_from_indexes, flag))
    return fields


# Entities.

_NAMES = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "e", "f", "", "ñ", "名前", "key", "_meanings", "x" * 200]),
    st.text(max_size=4),
)


def _flagged_value(draw: DrawFn, grammar: Grammar) -> Fields:
    return _value(draw, grammar, draw(_FLAGS))


def _entry(draw: DrawFn, grammar: Grammar) -> Fields:
    name = wire.delimited(ENTRY.key, draw(_NAMES))
    left_out = draw(_up_to(49)) if grammar.odd else 0
    value = _message(draw, grammar, ENTRY.value, schema.VALUE, _flagged_value)
    if left_out == 49:
        # An absent name is an empty one.
        return value
    if left_out == 48 and grammar.faulty:
        # An absent value is one without a type.
        return [name]
    return [name, *value]


def _entity(draw: DrawFn, grammar: Grammar) -> Fields:
    fields: Fields = []
    if draw(_up_to(3)):
        fields += _message(draw, grammar, ENTITY.key, schema.KEY, _key)
    for _ in range(draw(_up_to(grammar.properties))):
        fields += _message(draw, grammar, ENTITY.properties, schema.ENTRY, _entry, repeated=True)
    return fields
