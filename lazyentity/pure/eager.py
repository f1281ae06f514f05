"""Whole entities, decoded at once into stock entities."""

from __future__ import annotations

from google.cloud.datastore.entity import Entity

from lazyentity.codec import messages
from lazyentity.codec.values import stock_entity


def stock_from_raw(raw: bytes) -> Entity:
    """Make the stock entity that the client makes of a serialised one.

    Raises:
        google.protobuf.message.DecodeError: if the bytes are malformed.
        ValueError, OverflowError: as the client raises them.
        TypeError: if ``raw`` is not bytes.
    """
    if not isinstance(raw, bytes):
        # As the native backend, whose argument is declared.
        raise TypeError(f"raw must be bytes, not {type(raw).__name__}")
    return stock_entity(messages.Entity.FromString(raw))
