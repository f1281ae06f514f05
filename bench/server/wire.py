"""Responses put together from bytes that are already serialised.

Concatenated protobuf serialisations parse as one merged message, so a response is what upb makes of
its small fields, plus the stored entities as length-delimited fields. No property is parsed or
serialised on the way.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from .schema import (
    METHODS,
    ArrayValue,
    Entity,
    EntityResult,
    LookupResponse,
    QueryResultBatch,
    RunQueryResponse,
)

_LENGTH_DELIMITED = 2

MAX_RESPONSE_BYTES = 4 * 1024 * 1024 - 64 * 1024
"""Budget for the repeated part of a response: gRPC's default receive limit of 4 MiB, less a margin
for the response's other fields and the metadata beside it."""


# Entities are mostly of a few lengths.
@functools.lru_cache(maxsize=1 << 12)
def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


class Field:
    """A length-delimited field of a message type, whose content is given as bytes."""

    def __init__(self, descriptor: Any, name: str) -> None:
        self._tag = _varint(descriptor.fields_by_name[name].number << 3 | _LENGTH_DELIMITED)

    def __call__(self, content: bytes) -> bytes:
        """The field with that content, on the wire."""
        return self._tag + _varint(len(content)) + content


lookup_found = Field(LookupResponse.DESCRIPTOR, "found")
lookup_missing = Field(LookupResponse.DESCRIPTOR, "missing")
commit_results = Field(METHODS["Commit"][1].DESCRIPTOR, "mutation_results")
lookup_deferred = Field(LookupResponse.DESCRIPTOR, "deferred")
batch_results = Field(QueryResultBatch.DESCRIPTOR, "entity_results")
query_batch = Field(RunQueryResponse.DESCRIPTOR, "batch")

_result_entity = Field(EntityResult.DESCRIPTOR, "entity")
_result_cursor = Field(EntityResult.DESCRIPTOR, "cursor")
_array_values = Field(ArrayValue.DESCRIPTOR, "values")
_entity_key = Field(Entity.DESCRIPTOR, "key")
_entity_properties = Field(Entity.DESCRIPTOR, "properties")

_ENTRY = Entity.DESCRIPTOR.fields_by_name["properties"].message_type
_entry_name = Field(_ENTRY, "key")
_entry_value = Field(_ENTRY, "value")


def entity_result(entity: bytes, tail: bytes, cursor: bytes = b"") -> bytes:
    """An EntityResult of a serialised entity, its version and times (``tail``) and its cursor."""
    return _result_entity(entity) + (_result_cursor(cursor) if cursor else b"") + tail


def array(values: Iterable[bytes]) -> bytes:
    """An ArrayValue of serialised Values."""
    return b"".join(map(_array_values, values))


def entity(key: bytes, properties: Mapping[str, bytes]) -> bytes:
    """An Entity of a serialised Key and serialised Values by property name."""
    entries = (
        _entity_properties(_entry_name(name.encode()) + _entry_value(value))
        for name, value in properties.items()
    )
    return _entity_key(key) + b"".join(entries)
