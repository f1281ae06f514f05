"""The messages that split an ``EntityProto``, the entity of Datastore's older API.

The schema is proto2. Only the numbers of the fields are here, not the messages of a client: a field
that is declared as ``bytes`` splits a message without looking into it, and fields that are not
declared are skipped, groups included.

Messages:

``Parts``
    An entity as ``repeated bytes`` of its key, its properties and its raw properties, one element
    for each occurrence on the wire.
``Names``
    An entity with the name of each property.
``Meanings``
    An entity with the name and the meaning of each property.
``Values``
    An entity with everything of each property but its name. A value is a oneof: if several are on
    the wire, it has the last one, and the entity has another size. Groups are not looked into.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto

KEY: Final = 13
PROPERTY: Final = 14
RAW_PROPERTY: Final = 15

# The oneof of a value, and its plain cases.
KIND: Final = "kind"
INTEGER: Final = "integer"
BOOLEAN: Final = "boolean"
STRING: Final = "string"
DOUBLE: Final = "double"

_MEANING: Final = ("meaning", 1, _Field.TYPE_INT32)
_NAME: Final = ("name", 3, _Field.TYPE_BYTES)
_PACKAGE = "lazyentity.entityproto"


def _add(
    message: descriptor_pb2.DescriptorProto,
    name: str,
    number: int,
    kind: _Field.Type.ValueType,
    of: str | None = None,
    *,
    repeated: bool = False,
) -> None:
    label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    type_name = None if of is None else f".{_PACKAGE}.{of}"
    message.field.add(name=name, number=number, type=kind, type_name=type_name, label=label)


def _add_entity(
    file: descriptor_pb2.FileDescriptorProto,
    name: str,
    *fields: tuple[str, int, _Field.Type.ValueType],
) -> None:
    """Add a message of an entity whose properties have some of their fields."""
    entity = file.message_type.add(name=name)
    made = entity.nested_type.add(name="Property")
    for field in fields:
        _add(made, *field)
    of = f"{name}.Property"
    _add(entity, "property", PROPERTY, _Field.TYPE_MESSAGE, of, repeated=True)
    _add(entity, "raw_property", RAW_PROPERTY, _Field.TYPE_MESSAGE, of, repeated=True)


def _derive() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="lazyentity/entityproto.proto", package=_PACKAGE, syntax="proto2"
    )
    parts = file.message_type.add(name="Parts")
    _add(parts, "key", KEY, _Field.TYPE_BYTES, repeated=True)
    _add(parts, "property", PROPERTY, _Field.TYPE_BYTES, repeated=True)
    _add(parts, "raw_property", RAW_PROPERTY, _Field.TYPE_BYTES, repeated=True)
    _add_entity(file, "Names", _NAME)
    _add_entity(file, "Meanings", _MEANING, _NAME)

    uri = "meaning_uri", 2, _Field.TYPE_BYTES
    multiple = "multiple", 4, _Field.TYPE_BOOL
    _add_entity(file, "Values", _MEANING, uri, multiple)
    _add(file.message_type[-1].nested_type[0], "value", 5, _Field.TYPE_MESSAGE, "Value")
    value = file.message_type.add(name="Value")
    _add(value, INTEGER, 1, _Field.TYPE_INT64)
    _add(value, BOOLEAN, 2, _Field.TYPE_BOOL)
    _add(value, STRING, 3, _Field.TYPE_BYTES)
    _add(value, DOUBLE, 4, _Field.TYPE_DOUBLE)
    for name, number in (("Point", 5), ("User", 8), ("Reference", 12)):
        value.nested_type.add(name=name)
        _add(value, name.lower(), number, _Field.TYPE_GROUP, f"Value.{name}")
    value.oneof_decl.add(name=KIND)
    for field in value.field:
        field.oneof_index = 0

    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


_POOL = _derive()


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


Parts = _message("Parts")
Names = _message("Names")
Meanings = _message("Meanings")
Values = _message("Values")
