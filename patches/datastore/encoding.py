"""Entities on their way to the server, encoded without proto-plus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity.codec.errors import refuse_undecoded
from lazyentity.encoding import entity_message, knows_own_classes
from lazyentity.patches.api.protoplus import wrapped


def entity_to_protobuf(entity: Any, original: Callable[[Any], Any]) -> Any:
    """Return the ``google.cloud.datastore_v1.types.Entity`` of an entity.

    Args:
        entity: a lazy or a stock entity.
        original: the client's own ``entity_to_protobuf``, for any other object, and while somebody
            has put another class into its module.

    Raises:
        Exception: the client's own, for a value of the entity.
        TypeError: if the entity holds an undecoded property of another one.
        google.protobuf.message.DecodeError: if something malformed would have to be sent.
    """
    if not isinstance(entity, Entity) or not knows_own_classes():
        return original(entity)
    try:
        return wrapped(entity_pb2.Entity, entity_message(entity))
    except ValueError as error:
        refuse_undecoded(entity, error)
        raise
