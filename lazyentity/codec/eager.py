"""Stock entities made of serialised ones, and the order of their properties."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.cloud.datastore.entity import Entity

from lazyentity.codec import messages, shadow
from lazyentity.codec.values import stock_entity


def stock_from_raw(raw: bytes) -> Entity:
    """Make the stock entity that the client makes of a serialised one.

    Raises:
        google.protobuf.message.DecodeError: if the bytes are malformed.
        ValueError, OverflowError: as the client raises them.
    """
    return stock_entity(messages.Entity.FromString(raw))


def stock_order(names: Iterable[str]) -> list[str]:
    """Return names of properties in the order in which the stock client has them.

    That is the order of a hash table of protobuf. It depends on the order in which the names
    arrive, and on a seed that each process chooses for itself.

    Args:
        names: in wire order.
    """
    arriving = shadow.EntityEntries()
    for name in names:
        arriving.properties.add(key=name.encode())
    return list(messages.Entity.FromString(arriving.SerializeToString()).properties)


def plain_value(value: Any) -> Any:
    """Make plain dicts and lists of the entities and arrays in ``value``, which is read for that.

    Raises:
        google.protobuf.message.DecodeError, ValueError: if something in it cannot be decoded.
    """
    if isinstance(value, dict):
        return {name: plain_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    return value
