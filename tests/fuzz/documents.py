"""Documents, decoded natively and by protobuf: a format in which a dict is a map of values.

The messages here have the same fields as the client's; the client need not be installed.
"""

from __future__ import annotations

import datetime
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.message import DecodeError

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native.documents import DocumentBytes, DocumentReader

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


class _Point:
    """As the client's class of points."""

    def __init__(self, latitude: float, longitude: float) -> None:
        self.latitude, self.longitude = latitude, longitude


class _Vector:
    """As the client's class of vectors."""


_RESPONSE = _response_class()


def _converted(value: Any) -> Any:
    """Convert a message of a value as the client does.

    Raises:
        ValueError: if it has no type.
    """
    kind = value.WhichOneof("value_type")
    if kind is None or kind in ("field_reference_value", "function_value"):
        raise ValueError(kind)
    found = getattr(value, kind)
    if kind == "null_value":
        return None
    if kind == "array_value":
        return [_converted(each) for each in found.values]
    if kind == "map_value":
        return _converted_map(found.fields)
    if kind == "geo_point_value":
        return _Point(found.latitude, found.longitude)
    if kind == "timestamp_value":
        microseconds = found.seconds * 1_000_000 + found.nanos // 1000
        epoch = _Timestamp(1970, 1, 1, tzinfo=datetime.timezone.utc)
        epoch += datetime.timedelta(microseconds=microseconds)
        epoch._nanosecond = 0
        return epoch
    return found


def _converted_map(values: Any) -> Any:
    fields = {name: _converted(each) for name, each in values.items()}
    if fields.get("__type__") == "__vector__":
        made: Any = _Vector()
        made._value = tuple(map(float, fields["value"]))
        return made
    return fields


def _field(name: str, raw: bytes, client: Any) -> Any:
    return _converted(_VALUE.FromString(raw))


def _document(raw: bytes, client: Any) -> Any:
    message: Any = _DOCUMENT.FromString(raw)
    return _converted_map(message.fields)


_VALUE, _DOCUMENT = (
    message_factory.GetMessageClass(_RESPONSE.DESCRIPTOR.file.message_types_by_name[name])
    for name in ("Value", "Document")
)
_ERRORS = ArithmeticError, DecodeError, LookupError, TypeError, ValueError
_READER = DocumentReader(
    geo_point=_Point,
    references=(),
    vector=_Vector,
    timestamp=_Timestamp,
    reference=lambda name, client: name,
    field=_field,
    document=_document,
    errors=_ERRORS,
)


def _described(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _described(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_described(item) for item in value]
    if isinstance(value, _Vector):
        return [_described(item) for item in vars(value)["_value"]]
    if isinstance(value, _Point):
        return repr(value.latitude), repr(value.longitude)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, _Timestamp):
        return repr(value), value._nanosecond
    return type(value), value


def _outcome(call: Any) -> Any:
    try:
        return _described(call())
    except _ERRORS as error:
        return type(error)


def sample() -> Any:
    """Return fields of which nothing is decoded."""
    return DocumentBytes.from_bytes(SAMPLE, READ_TIME).fields(_READER, None)


def assert_same_document(raw: bytes) -> None:
    """Compare the reads of bytes, taken for a response with a document, with protobuf's.

    Raises:
        AssertionError: they differ.
    """
    mine = DocumentBytes.from_bytes(raw, READ_TIME)
    if mine is None:
        return
    for collection in (mine.name.rpartition("/")[0], mine.name, "", "a", "\ud800", None):
        mine.is_in(collection)
    one, other = mine.fields(_READER, None), mine.fields(_READER, None)
    whole = _outcome(one.to_dict)
    singly = {}
    names = _outcome(other.names)
    if type(names) is tuple:
        singly = {name: _outcome(lambda: other.get([name])) for name in names[1]}  # noqa: B023
    assert _outcome(one.to_dict) == whole
    if type(whole) is dict:
        assert other.get(["nope", "a"]) is UNDECODED
    try:
        response = _RESPONSE.FromString(raw)
    except DecodeError:
        # Malformed, or not UTF-8, somewhere in the fields.
        return
    expected = _outcome(lambda: _converted_map(response.document.fields))
    assert whole == expected
    if type(expected) is dict:
        assert singly == expected or not singly


def _sample() -> bytes:
    """Serialise a response with a document of every type, and maps in each other."""
    response = _RESPONSE(skipped_results=1)
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
