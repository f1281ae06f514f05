"""The messages that split an ``EntityProto``, the entity of Datastore's older API.

The schema is proto2. Only the numbers of the fields are here, not the messages of a client: a field
that is declared as ``bytes`` splits a message without looking into it, and fields that are not
declared are skipped, groups included.

Messages:

``Parts``
    An entity as ``repeated bytes`` of its key, its properties and its raw properties, one element
    for each occurrence on the wire.
``Names``
    An entity with the name and the meaning of each property.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto

KEY: Final = 13
PROPERTY: Final = 14
RAW_PROPERTY: Final = 15
_MEANING: Final = 1
_NAME: Final = 3

_PACKAGE = "lazyentity.entityproto"


def _derive() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="lazyentity/entityproto.proto", package=_PACKAGE, syntax="proto2"
    )
    fields = {"key": KEY, "property": PROPERTY, "raw_property": RAW_PROPERTY}
    parts = file.message_type.add(name="Parts")
    for name, number in fields.items():
        parts.field.add(
            name=name, number=number, type=_Field.TYPE_BYTES, label=_Field.LABEL_REPEATED
        )
    names = file.message_type.add(name="Names")
    named = names.nested_type.add(name="Property")
    optional = _Field.LABEL_OPTIONAL
    named.field.add(name="meaning", number=_MEANING, type=_Field.TYPE_INT32, label=optional)
    named.field.add(name="name", number=_NAME, type=_Field.TYPE_BYTES, label=optional)
    for name in ("property", "raw_property"):
        names.field.add(
            name=name,
            number=fields[name],
            type=_Field.TYPE_MESSAGE,
            type_name=f".{_PACKAGE}.Names.Property",
            label=_Field.LABEL_REPEATED,
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


_POOL = _derive()


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


Parts = _message("Parts")
Names = _message("Names")
