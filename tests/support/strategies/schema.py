"""The fields of Datastore's entity messages: number and wire type by name."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore_v1.types import entity as entity_pb2
from google.protobuf.descriptor import FieldDescriptor

from tests.support.strategies import wire

_WIRE_TYPES = {
    FieldDescriptor.TYPE_BOOL: wire.VARINT,
    FieldDescriptor.TYPE_ENUM: wire.VARINT,
    FieldDescriptor.TYPE_INT32: wire.VARINT,
    FieldDescriptor.TYPE_INT64: wire.VARINT,
    FieldDescriptor.TYPE_DOUBLE: wire.FIXED64,
    FieldDescriptor.TYPE_STRING: wire.DELIMITED,
    FieldDescriptor.TYPE_BYTES: wire.DELIMITED,
    FieldDescriptor.TYPE_MESSAGE: wire.DELIMITED,
}


class Schema:
    """One message type. ``schema.name`` is the number of the field ``name``.

    Attributes:
        wire_types: by number of the field, how the field is framed.
    """

    def __init__(self, descriptor: Any) -> None:
        self._numbers: dict[str, int] = {field.name: field.number for field in descriptor.fields}
        self.wire_types = {field.number: _WIRE_TYPES[field.type] for field in descriptor.fields}

    def __getattr__(self, name: str) -> int:
        try:
            return self._numbers[name]
        except KeyError:
            raise AttributeError(name) from None


_entity = entity_pb2.Entity.pb().DESCRIPTOR
_value = entity_pb2.Value.pb().DESCRIPTOR
_key = entity_pb2.Key.pb().DESCRIPTOR

ENTITY = Schema(_entity)
ENTRY = Schema(_entity.fields_by_name["properties"].message_type)
VALUE = Schema(_value)
ARRAY = Schema(_value.fields_by_name["array_value"].message_type)
GEO_POINT = Schema(_value.fields_by_name["geo_point_value"].message_type)
TIMESTAMP = Schema(_value.fields_by_name["timestamp_value"].message_type)
KEY = Schema(_key)
PARTITION = Schema(_key.fields_by_name["partition_id"].message_type)
PATH_ELEMENT = Schema(_key.fields_by_name["path"].message_type)
