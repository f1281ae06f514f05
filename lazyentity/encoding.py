"""Encoding entities to messages and bytes: undecoded properties stay as they were received."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity._backend import is_well_formed, key_bytes, serialise_entity, write_entity
from lazyentity.codec import messages
from lazyentity.codec.encodable import EncodableEntity
from lazyentity.codec.errors import refuse_undecoded
from lazyentity.codec.keys import DIRECT
from lazyentity.entity import LazyEntityBase, touched_attributes

_UNREAD: Any = object()
# As EncodableEntity(*fields), in a third of the time.
_made = functools.partial(tuple.__new__, EncodableEntity)


def entity_message(entity: Entity) -> Any:
    """Return the upb ``google.datastore.v1.Entity`` message that the client makes of an entity.

    Undecoded properties and an untouched key of a lazy entity stay as they were received, including
    fields unknown to this client's schema.

    Args:
        entity: a lazy or a stock entity.

    Raises:
        The errors of the client's ``entity_to_protobuf`` for values of the entity.
        google.protobuf.message.DecodeError: if an undecoded property or an untouched key is
            malformed.
        RuntimeError: if the entity must not be written, see :mod:`lazyentity.detached`.
    """
    message = messages.Entity()
    write_entity(message, entity, _encodable_of)
    return message


def sendable_entity(entity: Entity) -> Any:
    """Encode an entity for a request.

    Returns:
        The serialised entity, if protobuf is known to take it as a part of any request; else the
        upb message, which protobuf has to check when it is put into one.

    Raises:
        As :func:`entity_message`.
    """
    serialised, is_flat, is_encoded = serialise_entity(entity, _encodable_of)
    if is_flat and (is_encoded or is_well_formed(serialised)):
        return serialised
    message = messages.Entity()
    try:
        message.MergeFromString(serialised)
    except DecodeError:
        # Encoded again, for the error.
        return entity_message(entity)
    return serialised if is_flat else message


def entity_bytes(entity: Entity) -> tuple[bytes, bool]:
    """Serialise an entity as :func:`entity_message`, but copy malformed parts too.

    Returns:
        The bytes, and whether protobuf is known to take them as a part of any request.

    Raises:
        The errors of the client's ``entity_to_protobuf`` for values of the entity.
        RuntimeError: as for :func:`entity_message`.
        TypeError: if the entity holds an undecoded property of another one.
    """
    try:
        serialised, is_flat, is_encoded = serialise_entity(entity, _encodable_of)
    except ValueError as error:
        refuse_undecoded(entity, error)
        raise
    return serialised, is_flat and (is_encoded or is_well_formed(serialised))


def _encodable_of(entity: Entity) -> EncodableEntity:
    """Return the contents of an entity that are to be written.

    Raises:
        RuntimeError: if the entity must not be written, see :mod:`lazyentity.detached`.
        ValueError, google.protobuf.message.DecodeError: if a property must be decoded for writing,
            and cannot be.
    """
    if isinstance(entity, LazyEntityBase):
        return _encodable_of_lazy(entity)
    is_plain = getattr(type(entity), "items", None) is dict.items
    properties: Any = entity if is_plain else entity.items
    return EncodableEntity(properties, entity, entity.key)


def _encodable_of_lazy(entity: LazyEntityBase) -> EncodableEntity:
    entity._require_writable()
    for name in entity._deleted_attributes:
        # Raises AttributeError, as the client does, if the attribute was not set since.
        getattr(entity, name)
    attributes = touched_attributes(entity)
    # Flag and meaning are part of the property's bytes.
    for name in _reflagged(entity, attributes):
        _decode(entity, name)
    if "_meanings" in attributes:
        # It was replaced before any was read, or no undecoded property had a meaning left.
        unread = entity._undecoded()
        entity._wire_meanings(unread)
        for name in unread:
            if name in attributes["_meanings"]:
                _decode(entity, name)
    properties, rewritten, deleted, size = entity._changes()
    keeps_key = "key" not in attributes or _is_wire_key(attributes["key"], entity)
    key = None if keeps_key else attributes["key"]
    if not properties:
        return _made((properties, entity, key, entity, deleted, keeps_key, size, (), {}))
    excluded = attributes.get("exclude_from_indexes", _UNREAD)
    if excluded is _UNREAD:
        excluded = entity._wire_excluded(rewritten)
    meanings = attributes.get("_meanings", _UNREAD)
    if meanings is _UNREAD:
        meanings = entity._wire_meanings(rewritten)
    return _made((properties, entity, key, entity, deleted, keeps_key, size, excluded, meanings))


def _decode(entity: LazyEntityBase, name: Any) -> None:
    # Another thread may have deleted the property.
    with contextlib.suppress(KeyError):
        entity._read_on_request(name)


def _reflagged(entity: LazyEntityBase, attributes: dict[str, Any]) -> Any:
    """Return the undecoded properties whose index flag was changed, perhaps with further names."""
    if "exclude_from_indexes" not in attributes:
        return ()
    excluded, on_wire = attributes["exclude_from_indexes"], entity._wire_excluded()
    if type(excluded) is set:
        return (on_wire ^ excluded) & entity.keys()
    # The client only uses "in", which looks for substrings in a str.
    return [name for name in entity._undecoded() if (name in excluded) != (name in on_wire)]


def _is_wire_key(key: Key | None, entity: LazyEntityBase) -> bool:
    try:
        if type(key) is Key and DIRECT:
            # Most keys are as they were received, and need not be made again to be compared.
            received = entity._wire_key_bytes()
            if received and key_bytes(key) == received:
                return True
        wire_key = entity._wire_key()
    except (DecodeError, ValueError):
        # A malformed key cannot have been read: this one was assigned.
        return False
    if key is wire_key:
        # Only its private attributes can have changed.
        if key is None:
            return True
        # A partial key is sent by its path, which can differ from the received one.
        is_complete = len(key._path[-1]) > 1
        return is_complete and vars(key) == vars(type(entity)._from_raw(entity._raw)._wire_key())
    return type(key) is Key and bool(key == wire_key)
