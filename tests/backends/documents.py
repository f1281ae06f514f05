"""Documents, read by both backends: a format in which a dict is a map of values.

The messages here have the fields of those of the client, which need not be installed.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.message import DecodeError

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native import documents as native
from lazyentity.native.documents import DocumentReader
from lazyentity.pure import documents as pure
from lazyentity.pure.documentreader import DocumentReader as PureReader

READ_TIME = 3
_TIME = ".google.protobuf.Timestamp"
_Field = descriptor_pb2.FieldDescriptorProto


def _message(file: Any, name: str, *fields: tuple[str, int, Any, bool]) -> Any:
    """Add a message; a field: name, number, type or name of a message, whether repeated."""
    added = file.message_type.add(name=name)
    for field_name, number, kind, is_repeated in fields:
        label = _Field.LABEL_REPEATED if is_repeated else _Field.LABEL_OPTIONAL
        field = added.field.add(name=field_name, number=number, label=label)
        if isinstance(kind, str):
            field.type, field.type_name = _Field.TYPE_MESSAGE, kind
        else:
            field.type = kind
    return added


def _map(added: Any, name: str, number: int) -> None:
    """Add a map from text to values to a message."""
    entry = added.nested_type.add(name="FieldsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=_Field.TYPE_MESSAGE, type_name=".d.Value", label=1)
    added.field.add(
        name=name,
        number=number,
        type=_Field.TYPE_MESSAGE,
        type_name=f".d.{added.name}.FieldsEntry",
        label=_Field.LABEL_REPEATED,
    )


def _response_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(
        name="d.proto", package="d", syntax="proto3", dependency=["google/protobuf/timestamp.proto"]
    )
    value = _message(
        file,
        "Value",
        ("null_value", 11, _Field.TYPE_INT32, False),
        ("boolean_value", 1, _Field.TYPE_BOOL, False),
        ("integer_value", 2, _Field.TYPE_INT64, False),
        ("double_value", 3, _Field.TYPE_DOUBLE, False),
        ("timestamp_value", 10, _TIME, False),
        ("string_value", 17, _Field.TYPE_STRING, False),
        ("bytes_value", 18, _Field.TYPE_BYTES, False),
        ("reference_value", 5, _Field.TYPE_STRING, False),
        ("geo_point_value", 8, ".d.LatLng", False),
        ("array_value", 9, ".d.ArrayValue", False),
        ("map_value", 6, ".d.MapValue", False),
        ("field_reference_value", 19, _Field.TYPE_STRING, False),
        ("function_value", 20, ".d.LatLng", False),
    )
    value.oneof_decl.add(name="value_type")
    for field in value.field:
        field.oneof_index = 0
    _message(
        file,
        "LatLng",
        ("latitude", 1, _Field.TYPE_DOUBLE, False),
        ("longitude", 2, _Field.TYPE_DOUBLE, False),
    )
    _message(file, "ArrayValue", ("values", 1, ".d.Value", True))
    _map(_message(file, "MapValue"), "fields", 1)
    document = _message(
        file,
        "Document",
        ("name", 1, _Field.TYPE_STRING, False),
        ("create_time", 3, _TIME, False),
        ("update_time", 4, _TIME, False),
    )
    _map(document, "fields", 2)
    _message(
        file,
        "Response",
        ("document", 1, ".d.Document", False),
        ("transaction", 2, _Field.TYPE_BYTES, False),
        ("read_time", READ_TIME, _TIME, False),
        ("skipped_results", 4, _Field.TYPE_INT32, False),
    )
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("d.Response"))


class _Timestamp(datetime.datetime):
    """As the client's class of timestamps."""

    __slots__ = ("_nanosecond",)

    _nanosecond: int


RESPONSE = _response_class()


def _reader(kind: Any) -> Any:
    return kind(
        geo_point=lambda latitude, longitude: ("point", latitude, longitude),
        reference=lambda name, client: ("reference", name),
        other_map=lambda raw, client: ("other", sorted(raw)),
        timestamp=_Timestamp,
    )


_READERS = _reader(DocumentReader), _reader(PureReader)


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
    """Compare the backends' reads of bytes, taken for a response with a document.

    The native backend may leave more to the client than the pure one, which protobuf parses for; it
    gives nothing that the pure one does not give.

    Raises:
        AssertionError: they differ.
    """
    mine = native.DocumentBytes.of(raw, READ_TIME, RESPONSE)
    again = native.DocumentBytes.again(raw, READ_TIME, RESPONSE)
    # It trusts the bytes, but reads none behind them.
    trusted = [getattr(again, name) for name in _PARTS], again.is_in("a")
    again.decoded_fields(_READERS[0], None)
    if mine is None:
        return
    assert trusted == ([getattr(mine, name) for name in _PARTS], mine.is_in("a"))
    other = pure.DocumentBytes.of(raw, READ_TIME, RESPONSE)
    if other is None:
        # Protobuf refuses it as a whole: malformed, or not UTF-8, somewhere in the fields.
        assert _outcome(lambda: RESPONSE.FromString(raw)) is DecodeError
        mine.decoded_fields(_READERS[0], None)
        return
    for name in _PARTS:
        assert _described(getattr(mine, name)) == _described(getattr(other, name)), name
    for collection in (mine.name.rpartition("/")[0], mine.name, "", "a", "\ud800", None):
        assert mine.is_in(collection) == other.is_in(collection)
    fields = mine.decoded_fields(_READERS[0], None)
    expected = other.decoded_fields(_READERS[1], None)
    if fields is not UNDECODED:
        assert _described(fields) == _described(expected)
    for path in _paths(expected):
        value = mine.decoded_value(_READERS[0], None, path)
        if value is not UNDECODED:
            given = other.decoded_value(_READERS[1], None, path)
            assert _described(value) == _described(given), path


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
