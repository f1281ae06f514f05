"""The stock client, as the tests ask it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.protobuf.unknown_fields import UnknownFieldSet

from lazyentity.entity import LazyEntityBase
from tests.support.strategies import wire
from tests.support.strategies.schema import ENTITY

EntityMessage: Any = entity_pb2.Entity.pb()
"""upb class of ``google.datastore.v1.Entity``."""

ValueMessage: Any = entity_pb2.Value.pb()
"""upb class of ``google.datastore.v1.Value``."""


def stock_entity(raw: bytes) -> Entity:
    """Return the entity that the stock client makes of the serialised ``raw``."""
    entity: Entity = helpers.entity_from_protobuf(EntityMessage.FromString(raw))
    assert type(entity) is Entity
    return entity


def learn_names(lazy_type: type[LazyEntityBase], raw: bytes) -> None:
    """Read ``raw`` a few times before, or not: names are learned when they come again.

    How often is left to ``raw``, so that it is the same each time.
    """
    for _ in range(sum(raw) % 3):
        lazy_type._from_raw(raw)


def encoded(entity: Entity) -> bytes:
    """Serialise ``entity`` with the stock client, comparably."""
    return comparable(helpers.entity_to_protobuf(entity)._pb)


def comparable(message: Any) -> bytes:
    """Serialise ``message``; equal ones give equal bytes, NaN and unknown fields included."""
    serialised: bytes = message.SerializeToString(deterministic=True)
    return serialised


def content(raw: bytes) -> tuple[bytes, list[Any]]:
    """Return the part of the serialised entity ``raw`` that must survive being read and written.

    That is all but map entries with an unknown field inside, at any depth. protobuf treats such an
    entry as an unknown field of its entity and encodes it again. Two equal messages then differ in
    its bytes, because the order of the maps inside differs.

    Returns:
        The message without unknown fields; path and unknown fields of each message in it that has
        some.
    """
    return content_of(EntityMessage.FromString(raw))


def content_of(message: Any) -> tuple[bytes, list[Any]]:
    """As :func:`content`, for a message, which loses its unknown fields."""
    unknown = list(_unknown_inside(message, ()))
    message.DiscardUnknownFields()
    return comparable(message), unknown


def _unknown_inside(message: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    fields = _plain_fields(unknown_fields(message))
    if message.DESCRIPTOR == EntityMessage.DESCRIPTOR:
        fields = [field for field in fields if field[:2] != (ENTITY.properties, wire.DELIMITED)]
    if fields:
        yield path, fields
    for field, value in message.ListFields():
        if field.message_type is not None:
            for place, child in _children(value):
                yield from _unknown_inside(child, (*path, field.name, place))


def _children(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return sorted(value.items())
    if isinstance(value, Sequence):
        return enumerate(value)
    return [(None, value)]


def unknown_fields(message: Any) -> list[Any]:
    """Return the unknown fields of ``message``: number, wire type and data of each."""
    fields: Any = UnknownFieldSet(message)
    return list(fields)


def _plain_fields(fields: Iterable[Any]) -> list[Any]:
    return [
        (
            number,
            wire_type,
            _plain_fields(data) if wire_type == wire.START_GROUP else data,
        )
        for number, wire_type, data in fields
    ]


def in_order_of(
    other: Entity, entity: Entity, read: Callable[[Any, Any], Any] = operator.getitem
) -> Entity:
    """Give the properties of ``entity``, and of the entities in it, the order that ``other`` has.

    The stock client's own order is that of a hash that is seeded by the process.

    Args:
        other: an entity with the same names.
        entity: a stock entity.
        read: reads a property of ``other``. ``dict.get`` decodes nothing, and orders nothing in it.
    """
    assert entity.keys() == other.keys()
    for name in list(other):
        value = entity.pop(name)
        _order_value(read(other, name), value, read)
        entity[name] = value
    return entity


def _order_value(other: Any, value: Any, read: Callable[[Any, Any], Any]) -> None:
    if isinstance(value, Entity) and isinstance(other, Entity):
        in_order_of(other, value, read)
    elif type(value) is type(other) is dict:
        _order_value([*other.values()], [*value.values()], read)
    elif isinstance(value, list) and isinstance(other, list):
        for other_item, item in zip(other, value, strict=True):
            _order_value(other_item, item, read)


def lazy_entities_in(value: Any) -> list[LazyEntityBase]:
    """Return the lazy entities anywhere in ``value``."""
    if isinstance(value, dict):
        found = [found for item in value.values() for found in lazy_entities_in(item)]
        if isinstance(value, LazyEntityBase):
            found.append(value)
        if isinstance(value, Entity):
            found += lazy_entities_in([original for _, original in value._meanings.values()])
        return found
    if isinstance(value, list):
        return [found for item in value for found in lazy_entities_in(item)]
    return []


def reparsed(raw: bytes) -> bytes:
    """Return the message in the serialised entity ``raw`` as :func:`comparable` gives it."""
    return comparable(EntityMessage.FromString(raw))
