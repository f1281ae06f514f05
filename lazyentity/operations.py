"""Functions on entities beyond the methods of a dict; stock entities are accepted too."""

from __future__ import annotations

from google.cloud.datastore.entity import Entity

from lazyentity._dispatch import operations_of, require_entity, require_names
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.encoding import entity_bytes
from lazyentity.entity import LazyEntityBase


def raw(entity: Entity) -> bytes:
    """Return the entity as a serialised ``google.datastore.v1.Entity`` message, changes included.

    >>> import lazyentity
    >>> order = lazyentity.LazyEntity()
    >>> order.update(amount=12.5, lines=[{"price": 2.5}])
    >>> stored = lazyentity.raw(order)
    >>> lazyentity.LazyEntity.from_bytes(stored)["amount"]
    12.5

    Undecoded properties of a lazy entity are copied from the received bytes. The others are encoded
    as by the client.

    Args:
        entity: a lazy or a stock entity.

    Raises:
        TypeError: if ``entity`` is not an entity, or holds an undecoded property of another one.
        ValueError: as the client raises it, if a value has no Datastore type.
        RuntimeError: if the entity was detached with only some of its properties: see
            :func:`detach`.
    """
    own = operations_of(entity)
    if own is not None:
        return own.raw(entity)
    require_entity("raw", entity)
    return entity_bytes(entity)[0]


def prefetch(entity: Entity, *names: str) -> None:
    """Decode the properties ``names`` now. A stock entity has all properties decoded already.

    >>> import lazyentity
    >>> made = lazyentity.LazyEntity()
    >>> made.update(amount=12.5, note="call first")
    >>> order = lazyentity.LazyEntity.from_bytes(lazyentity.raw(made))
    >>> lazyentity.prefetch(order, "amount")
    >>> lazyentity.decoded(order)
    ('amount',)

    This also works for an entity from ``wrap(..., strict=True)``. The properties can be read from
    then on.

    Args:
        entity: a lazy or a stock entity.
        names: properties of the entity.

    Raises:
        TypeError: if ``entity`` is not an entity, or a name is no string.
        KeyError: if one of the names is missing; then no property is decoded.
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
    """
    require_names("prefetch", names)
    own = operations_of(entity)
    if own is not None:
        own.prefetch(entity, *names)
        return
    require_entity("prefetch", entity)
    for name in names:
        if name not in entity:
            raise KeyError(name)
    read = entity._read_on_request if isinstance(entity, LazyEntityBase) else entity.__getitem__
    for name in names:
        read(name)


def decoded(entity: Entity) -> tuple[str, ...]:
    """Return the names decoded or assigned so far, in the entity's order.

    >>> import lazyentity
    >>> made = lazyentity.LazyEntity()
    >>> made.update(amount=12.5, note="call first")
    >>> order = lazyentity.LazyEntity.from_bytes(lazyentity.raw(made))
    >>> lazyentity.decoded(order)
    ()

    Args:
        entity: a lazy entity; for a stock one, all names are returned.

    Raises:
        TypeError: if ``entity`` is not an entity.
    """
    own = operations_of(entity)
    if own is not None:
        return tuple(own.decoded(entity))
    require_entity("decoded", entity)
    if not isinstance(entity, LazyEntityBase):
        return tuple(entity)
    stored = entity._storage()
    return tuple(name for name, value in stored.items() if value is not UNDECODED)
