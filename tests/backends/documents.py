"""Documents, read by the native backend and by protobuf: a dict is a map of values.

The messages here have the same fields as the client's; the client need not be installed.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.message import DecodeError

from lazyentity.codec.timestamps import timestamp_from_message
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native import documents as native
from lazyentity.native.documents import DocumentReader

READ_TIME = 3
_Field = descriptor_pb2.FieldDescriptorProto
_SCHEMA = """
Value null_value:11:INT32 boolean_value:1:BOOL integer_value:2:INT64 double_value:3:DOUBLE
Value timestamp_value:10:time string_value:17:STRING bytes_value:18:BYTES reference_value:5:STRING
Value geo_point_value:8:LatLng array_value:9:ArrayValue map_value:6:MapValue
Value field_reference_value:19:STRING function_value:20:LatLng
LatLng latitude:1:DOUBLE longitude:2:DOUBLE
ArrayValue values:1:Value:repeated
MapValue fields:1:map
Document name:1:STRING fields:2:map create_time:3:time update_time:4:time
Response document:1:Document transaction:2:BYTES read_time:3:time skipped_results:4:INT32
"""
"""The name of a message, then for each field its name, number and type."""


def _add_field(
    message: Any, name: str, number: str, kind: str, repeated: str = "", **options: Any
) -> None:
    field = message.field.add(name=name, number=int(number), **options)
    field.label = _Field.LABEL_REPEATED if repeated or kind == "map" else _Field.LABEL_OPTIONAL
    if kind == "map":
        entry = message.nested_type.add(name="FieldsEntry")
        entry.options.map_entry = True
        _add_field(entry, "key", "1", "STRING")
        _add_field(entry, "value", "2", "Value")
    if kind.isupper():
        field.type = _Field.Type.Value(f"TYPE_{kind}")
    else:
        names = {"time": "google.protobuf.Timestamp", "map": f"d.{message.name}.FieldsEntry"}
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{names.get(kind, f'd.{kind}')}"


def _response_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(
        name="d.proto", package="d", syntax="proto3", dependency=["google/protobuf/timestamp.proto"]
    )
    messages: dict[str, Any] = {}
    for line in _SCHEMA.strip().splitlines():
        name, *fields = line.split()
        if name not in messages:
            messages[name] = file.message_type.add(name=name)
        options: dict[str, Any] = {"oneof_index": 0} if name == "Value" else {}
        for field in fields:
            _add_field(messages[name], *field.split(":"), **options)
    messages["Value"].oneof_decl.add(name="value_type")
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("d.Response"))


class _Timestamp(datetime.datetime):
    """As the client's class of timestamps."""

    __slots__ = ("_nanosecond",)

    _nanosecond: int


RESPONSE = _response_class()


READER = DocumentReader(
    geo_point=lambda latitude, longitude: ("point", latitude, longitude),
    reference=lambda name, client: ("reference", name),
    other_map=lambda raw, client: ("other", sorted(raw)),
    timestamp=_Timestamp,
)


def _value(message: Any) -> Any:
    """Convert a ``Value`` of protobuf as :data:`READER` does."""
    case = message.WhichOneof("value_type")
    value: Any = None if case is None else getattr(message, case)
    match case:
        case "null_value":
            return None
        case "timestamp_value":
            return _timestamp(value)
        case "map_value":
            if any(name.startswith("__") for name in value.fields):
                return "other", sorted(value.SerializeToString())
            return _map(value.fields)
        case "array_value":
            items = [_value(item) for item in value.values]
            return UNDECODED if any(item is UNDECODED for item in items) else items
        case "reference_value":
            return "reference", value
        case "geo_point_value":
            return "point", value.latitude, value.longitude
        case None | "field_reference_value" | "function_value":
            return UNDECODED
        case _:
            return value


def _map(fields: Any) -> Any:
    decoded = {name: _value(value) for name, value in fields.items()}
    is_other = any(name.startswith("__") for name in decoded)
    is_left = is_other or any(value is UNDECODED for value in decoded.values())
    return UNDECODED if is_left else decoded


def _timestamp(message: Any) -> Any:
    try:
        date = timestamp_from_message(message)
    except (ValueError, OverflowError):
        return UNDECODED
    parts = *date.timetuple()[:6], date.microsecond, date.tzinfo
    timestamp: Any = datetime.datetime.__new__(_Timestamp, *parts)
    timestamp._nanosecond = 0
    return timestamp


def _described(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _described(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [_described(item) for item in value]
    if isinstance(value, float):
        return math.copysign(1, value), repr(value)
    if isinstance(value, _Timestamp):
        return repr(value), value._nanosecond
    return type(value), value


def _outcome(call: Any) -> Any:
    try:
        return call()
    except DecodeError:
        return DecodeError


_PARTS = "raw", "name", "read_time", "create_time", "update_time"


def assert_same_document(raw: bytes) -> None:
    """Compare the native backend's reads of bytes, taken for a response, with protobuf's.

    The native backend may leave more to the client; it gives nothing that protobuf does not give.

    Raises:
        AssertionError: they differ.
    """
    mine = native.DocumentBytes.of(raw, READ_TIME, RESPONSE)
    again = native.DocumentBytes.again(raw, READ_TIME, RESPONSE)
    # It trusts the bytes, but reads none behind them.
    trusted = [getattr(again, name) for name in _PARTS], again.is_in("a")
    again.decoded_fields(READER, None)
    if mine is None:
        return
    assert trusted == ([getattr(mine, name) for name in _PARTS], mine.is_in("a"))
    try:
        response = RESPONSE.FromString(raw)
    except DecodeError:
        # Malformed, or not UTF-8, somewhere in the fields.
        mine.decoded_fields(READER, None)
        return
    document = response.document
    for message, name in (
        (response, "read_time"),
        (document, "create_time"),
        (document, "update_time"),
    ):
        expected = (
            timestamp_from_message(getattr(message, name)) if message.HasField(name) else None
        )
        assert _described(getattr(mine, name)) == _described(expected), name
    assert (mine.raw, mine.name) == (raw, document.name)
    for collection in (mine.name.rpartition("/")[0], mine.name, "", "a", "\ud800", None):
        assert mine.is_in(collection) == (document.name.rpartition("/")[:2] == (collection, "/"))
    fields = mine.decoded_fields(READER, None)
    if fields is not UNDECODED:
        assert _described(fields) == _described(_map(document.fields))
    for path in _paths(_map(document.fields)):
        value = mine.decoded_value(READER, None, path)
        if value is not UNDECODED:
            assert _described(value) == _described(_value_at(document.fields, path)), path


def _value_at(fields: Any, path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        fields = fields[name].map_value.fields
    return _value(fields[path[-1]])


def _paths(fields: Any, depth: int = 3) -> list[tuple[str, ...]]:
    """Return the paths of fields, and some that lead nowhere."""
    if not isinstance(fields, dict) or depth == 0:
        return [("nope",)]
    paths: list[tuple[str, ...]] = [("a",), ("",)]
    for name, value in list(fields.items())[:8]:
        paths += [(name,), *((name, *inner) for inner in _paths(value, depth - 1))]
    return paths


def _sample() -> bytes:
    """Serialise a response with a document of every type, and maps in each other."""
    response = RESPONSE(skipped_results=1)
    response.read_time.FromMicroseconds(1_700_000_000_123_456)
    document = response.document
    document.name = "projects/p/databases/d/documents/a/b"
    document.create_time.FromMicroseconds(-1)
    document.update_time.seconds = 1
    fields = document.fields
    fields["a"].map_value.fields["b"].array_value.values.add().double_value = -0.0
    fields["a"].map_value.fields["a"].map_value.fields["é"].string_value = "text ä"
    fields["none"].null_value = 0
    fields["flag"].boolean_value = True
    fields["integer"].integer_value = -(2**63)
    fields["when"].timestamp_value.nanos = 123_456_789
    fields["bytes"].bytes_value = b"\0\xff"
    fields["reference"].reference_value = document.name
    fields["point"].geo_point_value.latitude = 1.5
    fields["special"].map_value.fields["__type__"].string_value = "__vector__"
    raw: bytes = response.SerializeToString()
    return raw


SAMPLE = _sample()
