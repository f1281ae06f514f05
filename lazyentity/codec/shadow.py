"""The shadow schema: Datastore's own messages, with the parts that nobody may ever read left as bytes.

A length-delimited field is the same on the wire whether its type is a message or ``bytes``. The
descriptors that the installed client carries are copied into a private pool with a few such fields
retyped, so that protobuf's own parser (upb) splits a message without looking into those parts. The
shadow is derived from the live descriptors, so it follows upstream when fields are added.

Messages of the shadow:

``LookupResponse``, ``RunQueryResponse``
    As upstream, but ``EntityResult.entity`` is ``bytes``.
``EntityParts``
    An entity split into ``repeated bytes key`` and ``repeated bytes properties``, one element for each
    occurrence on the wire. Protobuf defines that repeated occurrences of a message are merged, and that
    concatenating encodings merges them, so ``b"".join(parts.key)`` is the key, however it was split.
``EntityNames``
    An entity of which only the property names are declared. All else is unknown to it.
"""

from __future__ import annotations

from typing import Any

from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FieldProto = descriptor_pb2.FieldDescriptorProto


def _copy_with_dependencies(
    pool: descriptor_pool.DescriptorPool,
    file: Any,
    opaque_field: Any,
    copied: set[str],
) -> None:
    """Add ``file`` and all that it imports to ``pool``, with ``opaque_field`` retyped to bytes."""
    if file.name in copied:
        return
    copied.add(file.name)
    for dependency in file.dependencies:
        _copy_with_dependencies(pool, dependency, opaque_field, copied)
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    if file.name == opaque_field.file.name:
        for message in proto.message_type:
            if message.name == opaque_field.containing_type.name:
                for field in message.field:
                    if field.number == opaque_field.number:
                        field.type = _FieldProto.TYPE_BYTES
                        field.ClearField("type_name")
    pool.Add(proto)


def _split_entity_file(package: str) -> descriptor_pb2.FileDescriptorProto:
    """Describe ``EntityParts`` and ``EntityNames`` with the field numbers of the live ``Entity``."""
    fields = entity_pb2.Entity.pb().DESCRIPTOR.fields_by_name
    name = fields["properties"].message_type.fields_by_name["key"]

    file = descriptor_pb2.FileDescriptorProto(
        name="lazyentity/shadow.proto", package=package, syntax="proto3"
    )

    parts = file.message_type.add(name="EntityParts")
    for field_name in ("key", "properties"):
        parts.field.add(
            name=field_name,
            number=fields[field_name].number,
            type=_FieldProto.TYPE_BYTES,
            label=_FieldProto.LABEL_REPEATED,
        )

    names = file.message_type.add(name="EntityNames")
    entry = names.nested_type.add(name="Entry")
    entry.field.add(
        name="key",
        number=name.number,
        type=_FieldProto.TYPE_STRING,
        label=_FieldProto.LABEL_OPTIONAL,
    )
    names.field.add(
        name="properties",
        number=fields["properties"].number,
        type=_FieldProto.TYPE_MESSAGE,
        type_name=f".{package}.EntityNames.Entry",
        label=_FieldProto.LABEL_REPEATED,
    )
    return file


def _derive() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    lookup = datastore_pb2.LookupResponse.pb().DESCRIPTOR
    entity_field = query_pb2.EntityResult.pb().DESCRIPTOR.fields_by_name["entity"]
    _copy_with_dependencies(pool, lookup.file, entity_field, set())
    package = "lazyentity.shadow"
    pool.Add(_split_entity_file(package))
    full_names = {
        "LookupResponse": lookup.full_name,
        "RunQueryResponse": datastore_pb2.RunQueryResponse.pb().DESCRIPTOR.full_name,
        "EntityParts": f"{package}.EntityParts",
        "EntityNames": f"{package}.EntityNames",
    }
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name))
        for name, full_name in full_names.items()
    }


_MESSAGES = _derive()

LookupResponse = _MESSAGES["LookupResponse"]
RunQueryResponse = _MESSAGES["RunQueryResponse"]
EntityParts = _MESSAGES["EntityParts"]
EntityNames = _MESSAGES["EntityNames"]
