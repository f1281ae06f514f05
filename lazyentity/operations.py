"""What can be asked of an entity beyond what a dict offers; stock entities are accepted too."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore.entity import Entity

from lazyentity._backend import backend
from lazyentity._types import require_entity
from lazyentity.codec import messages
from lazyentity.codec.encode import entity_bytes
from lazyentity.codec.values import stock_entity
from lazyentity.entity import LazyEntity, LazyEntityBase


def materialize(entity: Entity) -> Entity:
    """Return a plain stock entity with everything decoded.

    Args:
        entity: a lazy entity; a stock one is returned as it is.

    Returns:
        google.cloud.datastore.Entity: equal to ``entity``. Entities inside of its lists, dicts and
        embedded entities are plain as well. Containers are new, other values are shared. What is
        made of a detached entity that is refused on write is refused, too: see :func:`detach`.

    Raises:
        TypeError: if ``entity`` is not an entity.
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        RuntimeError: if a property was not prefetched, and reading it is refused: see :func:`wrap`.
    """
    require_entity("materialize", entity)
    return _materialize_entity(entity) if isinstance(entity, LazyEntityBase) else entity


def stock_from_bytes(raw: bytes) -> Entity:
    """Make a stock entity of a serialised one, in whichever way is faster with this backend.

    Raises:
        google.protobuf.message.DecodeError: if the bytes are malformed.
        ValueError, OverflowError: as the client raises them.
    """
    if backend == "native":
        return _materialize_entity(LazyEntity._from_raw(raw))
    return stock_entity(messages.Entity.FromString(raw))


def _materialize_value(value: Any) -> Any:
    if isinstance(value, LazyEntityBase) or type(value) is Entity:
        return _materialize_entity(value)
    if type(value) is list:
        return [_materialize_value(item) for item in value]
    if type(value) is dict:
        return {name: _materialize_value(item) for name, item in value.items()}
    return value


def _materialize_entity(entity: Any) -> Entity:
    values = dict(entity.items())
    plain = entity._empty_plain() if isinstance(entity, LazyEntityBase) else Entity()
    plain.update(values)
    for name, value in values.items():
        if isinstance(value, _CONTAINERS):
            plain[name] = _materialize_value(value)
    plain.__dict__.update(vars(entity))
    plain.exclude_from_indexes = set(entity.exclude_from_indexes)
    # The client writes a meaning back only with the very object it was read with.
    plain._meanings = {
        name: (
            meaning,
            plain[name]
            if name in values and original is values[name]
            else _materialize_value(original),
        )
        for name, (meaning, original) in entity._meanings.items()
    }
    return plain


_CONTAINERS = (list, dict)


def raw(entity: Entity) -> bytes:
    """Return the entity as a serialised ``google.datastore.v1.Entity`` message, changes included.

    Properties of a lazy entity that were not decoded are copied from the bytes that the entity was
    made of; the others are encoded by the client.

    Args:
        entity: a lazy or a stock entity.

    Raises:
        TypeError: if ``entity`` is not an entity.
        ValueError: as the client raises it, if a value has no Datastore type.
        RuntimeError: if the entity was detached with a part of its properties: see :func:`detach`.
    """
    require_entity("raw", entity)
    return entity_bytes(entity)


def prefetch(entity: Entity, *names: str) -> None:
    """Decode the properties ``names`` now. Of a stock entity all properties are decoded already.

    This is an explicit request: it decodes where ``wrap(..., strict=True)`` has reading refused,
    and allows what was decoded to be read.

    Args:
        entity: a lazy or a stock entity.
        names: properties of the entity.

    Raises:
        TypeError: if ``entity`` is not an entity.
        KeyError: if the entity has no property of one of the names; then none is decoded.
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
    """
    require_entity("prefetch", entity)
    for name in names:
        if name not in entity:
            raise KeyError(name)
    read = entity._read_on_request if isinstance(entity, LazyEntityBase) else entity.__getitem__
    for name in names:
        read(name)


def decoded(entity: Entity) -> tuple[str, ...]:
    """Return the names decoded or assigned so far, in the entity's order.

    Args:
        entity: a lazy entity; of a stock one all names are returned.

    Raises:
        TypeError: if ``entity`` is not an entity.
    """
    require_entity("decoded", entity)
    if not isinstance(entity, LazyEntityBase):
        return tuple(entity)
    undecoded = set(entity._undecoded())
    return tuple(name for name in entity if name not in undecoded)
