"""App Engine's own messages, and the index of an entity that came as one."""

from __future__ import annotations

from typing import Any

from google.appengine.datastore import entity_bytes_pb2

from lazyentity.native.backend import PropertyIndex

EntityProto: Any = entity_bytes_pb2.EntityProto
Property: Any = entity_bytes_pb2.Property
Reference: Any = entity_bytes_pb2.Reference

_parse = Property.FromString

INDEX_VALUE: int = entity_bytes_pb2.Property.INDEX_VALUE
"""The meaning of a value that comes from an index: the entity is the result of a projection."""


def index_of(message: Any) -> Any:
    """Index a parsed entity.

    Args:
        message: an ``EntityProto``. The index has its bytes: the message would keep the whole
            response alive.

    Returns:
        The :class:`~lazyentity._backend.protocols.PropertyIndex`; None, if there can be none.
    """
    # A message without a required field can be parsed as well.
    return PropertyIndex.from_bytes(message.SerializePartialToString())


def index_of_bytes(raw: bytes) -> Any:
    """Index a serialised entity, as :func:`index_of`.

    Raises:
        google.protobuf.message.DecodeError: if the bytes are malformed.
    """
    index = PropertyIndex.from_bytes(raw)
    return index_of(EntityProto.FromString(raw)) if index is None else index


def property_messages(index: Any, name: str) -> list[Any]:
    """Return the properties of a name as parsed messages.

    Raises:
        google.protobuf.message.DecodeError: if the bytes of a property are malformed.
    """
    properties = index.properties(name)
    if len(properties) == 1:
        return [_parse(properties[0])]
    # All of a list at once, which takes less time.
    message = EntityProto.FromString(index.fields((name,)))
    return [*message.property, *message.raw_property]
