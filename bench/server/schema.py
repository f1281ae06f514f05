"""The raw Datastore message classes of the installed client.

They are generated at import by proto-plus and untyped, hence ``Any``.
"""

from __future__ import annotations

from typing import Any

from google.cloud.datastore_v1.types import (
    datastore as datastore_types,
    entity as entity_types,
    query as query_types,
)
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from .errors import unimplemented

Message = Any

Entity: Message = entity_types.Entity.pb()
Key: Message = entity_types.Key.pb()
Value: Message = entity_types.Value.pb()
ArrayValue: Message = entity_types.ArrayValue.pb()
EntityResult: Message = query_types.EntityResult.pb()
QueryResultBatch: Message = query_types.QueryResultBatch.pb()
LookupResponse: Message = datastore_types.LookupResponse.pb()
RunQueryResponse: Message = datastore_types.RunQueryResponse.pb()
MutationResult: Message = datastore_types.MutationResult.pb()

_METHODS = (
    "Lookup",
    "RunQuery",
    "RunAggregationQuery",
    "BeginTransaction",
    "Commit",
    "Rollback",
    "AllocateIds",
)

METHODS: dict[str, tuple[Message, Message]] = {
    method: (
        getattr(datastore_types, f"{method}Request").pb(),
        getattr(datastore_types, f"{method}Response").pb(),
    )
    for method in _METHODS
}
"""Request and response class of each RPC, by its gRPC name."""


def _split_requests() -> dict[str, Message]:
    """Derive requests whose keys are bytes, and whose entities are a key and unknown fields.

    They are the same on the wire, and nothing in an entity is parsed.
    """
    lookup, commit = METHODS["Lookup"][0].DESCRIPTOR, METHODS["Commit"][0].DESCRIPTOR
    upstream = commit.file
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{__name__}.proto",
        package=__name__,
        syntax="proto3",
        dependency=[upstream.name, *(imported.name for imported in upstream.dependencies)],
    )
    split = file.message_type.add(name=Entity.DESCRIPTOR.name)
    # Fields of a oneof have presence.
    split.oneof_decl.add(name="received")
    number = Entity.DESCRIPTOR.fields_by_name["key"].number
    split.field.add(name="key", number=number, label=1, type=_BYTES, oneof_index=0)
    mutation = commit.fields_by_name["mutations"].message_type
    for copied in (mutation, lookup, commit):
        message = file.message_type.add()
        copied.CopyToProto(message)
        for field in message.field:
            if field.type_name == f".{Key.DESCRIPTOR.full_name}":
                field.ClearField("type_name")
                field.type = _BYTES
            elif field.type_name in (f".{Entity.DESCRIPTOR.full_name}", f".{mutation.full_name}"):
                field.type_name = f".{__name__}.{field.type_name.rsplit('.', 1)[1]}"
    pool = descriptor_pool.Default()
    pool.Add(file)
    return {
        method: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{__name__}.{method}Request")
        )
        for method in ("Lookup", "Commit")
    }


_BYTES = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES

REQUESTS = {method: types[0] for method, types in METHODS.items()} | _split_requests()
"""The class that each RPC's handler takes, by its gRPC name."""


def present(message: Message) -> set[str]:
    """Names of the fields that are set in ``message``."""
    return {field.name for field, _ in message.ListFields()}


def refuse(message: Message, *fields: str) -> None:
    """Raise UNIMPLEMENTED when one of ``fields`` is set in ``message``.

    Fields that the installed client is too old to know may be among them.
    """
    for field in sorted(present(message) & set(fields)):
        raise unimplemented(f"{message.DESCRIPTOR.name}.{field}")


def enum_name(message: Message, field: str) -> str:
    """Name of the enum value in ``message.field``, ``""`` for a number that has none."""
    enum = message.DESCRIPTOR.fields_by_name[field].enum_type
    value = enum.values_by_number.get(getattr(message, field))
    return "" if value is None else str(value.name)


def timestamp(nanoseconds: int) -> Message:
    """A Timestamp of that many nanoseconds since the epoch, cut to Datastore's microseconds."""
    message = timestamp_pb2.Timestamp()
    message.FromMicroseconds(nanoseconds // 1000)
    return message
