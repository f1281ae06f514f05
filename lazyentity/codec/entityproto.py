"""The message that splits an ``EntityProto``, the entity of Datastore's older API.

Only the numbers of the fields are here, not the messages of a client: a field that is declared as
``bytes`` splits a message without looking into it, and fields that are not declared are skipped.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

KEY: Final = 13
PROPERTY: Final = 14
RAW_PROPERTY: Final = 15


def _parts_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="lazyentity/entityproto.proto", package="lazyentity.entityproto", syntax="proto2"
    )
    parts = file.message_type.add(name="Parts")
    for name, number in (("key", KEY), ("property", PROPERTY), ("raw_property", RAW_PROPERTY)):
        field = parts.field.add(name=name, number=number)
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName("lazyentity.entityproto.Parts")
    )


Parts: Any = _parts_class()
"""An ``EntityProto`` as ``repeated bytes`` of its key, its properties and its raw properties."""
