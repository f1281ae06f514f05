"""Entities in blobs, which ndb serialises in the order of a hash that each process seeds."""

from __future__ import annotations

import zlib
from typing import Any

from tests.support.snapshots import Raised, outcome
from tests.support.stock import EntityMessage, comparable


def order_blobs(message: Any) -> None:
    """Put the entities in the blobs of an entity message into the order of their names."""
    for value in message.properties.values():
        for item in value.array_value.values if value.HasField("array_value") else [value]:
            if item.HasField("entity_value"):
                order_blobs(item.entity_value)
            elif item.HasField("blob_value"):
                item.blob_value = in_order(item.blob_value)


def in_order(blob: bytes) -> bytes:
    """Return the entity in a blob, which may be compressed, in that order; other bytes as such."""
    raw = outcome(zlib.decompress, blob)
    inner: Any = outcome(EntityMessage.FromString, blob if isinstance(raw, Raised) else raw)
    if isinstance(inner, Raised) or not inner.properties:
        return blob
    order_blobs(inner)
    return comparable(inner)
