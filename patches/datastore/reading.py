"""Entities that are made of the messages which a patched or wrapped client received."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._backend import EntityReader
from lazyentity._mode import is_eager
from lazyentity.codec import messages
from lazyentity.codec.values import stock_entity
from lazyentity.entity import LazyEntity
from lazyentity.patches.api.entities import HANDLES
from lazyentity.patches.datastore.seams import CLIENT
from lazyentity.profiling import observer


def read_message(
    entity_message: Any, reader: EntityReader, original: Callable[[Any], Any] = stock_entity
) -> Any:
    """Make an entity of the client's entity message, a stock one inside ``eager()``.

    Args:
        entity_message: a proxy of a lazy response, or an entity message (proto-plus or upb).
        reader: makes the entity.
        original: converts everything that has nothing lazy about it; by default the client.
    """
    if type(entity_message) in HANDLES:
        return entity_message.read(reader)
    message = entity_message._pb if type(entity_message) is entity_pb2.Entity else entity_message
    if (
        reader.is_stock
        or type(message) is not messages.Entity
        or is_eager()
        or not CLIENT.guard.is_intact()
    ):
        return original(entity_message)
    raw = message.SerializeToString()
    entity = LazyEntity._from_raw(raw)
    # An entity without a key is part of another one.
    data = observer.data
    if data is not None and message.HasField("key"):
        data.receive(entity, raw, False)
    return entity if reader.prepare is None else reader.prepare(entity)
