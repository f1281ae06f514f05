"""The raw Datastore message classes of the installed client.

They are generated at import by proto-plus and untyped, hence ``Any``.
"""

from __future__ import annotations

from typing import Any

from google.cloud.datastore_v1.types import datastore as datastore_types
from google.cloud.datastore_v1.types import entity as entity_types
from google.cloud.datastore_v1.types import query as query_types
from google.protobuf import timestamp_pb2

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
    "ReserveIds",
)

METHODS: dict[str, tuple[Message, Message]] = {
    method: (
        getattr(datastore_types, f"{method}Request").pb(),
        getattr(datastore_types, f"{method}Response").pb(),
    )
    for method in _METHODS
}
"""Request and response class of each RPC, by its gRPC name."""


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
