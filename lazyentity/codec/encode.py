"""Entities as messages and as bytes again: what was never decoded stays as it came."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.write import write_properties
from lazyentity.entity import LazyEntityBase, touched_attributes

# Bound before anything is patched.
_stock_entity_to_protobuf = helpers.entity_to_protobuf


def entity_message(entity: Entity) -> Any:
    """Return the upb ``google.datastore.v1.Entity`` message that the client makes of an entity.

    Of a lazy entity, undecoded properties and an untouched key stay as they came, with all that is
    unknown to this client's schema.

    Args:
        entity: a lazy or a stock entity.

    Raises:
        Whatever the client's ``entity_to_protobuf`` raises for a value of the entity.
        google.protobuf.message.DecodeError: if what is to stay as it came is malformed.
    """
    if isinstance(entity, LazyEntityBase):
        return _lazy_message(entity)
    if type(entity) is Entity:
        return _plain_message(entity)
    return _client_message(entity)


def entity_bytes(entity: Entity) -> bytes:
    """Serialise an entity: as :func:`entity_message`, but what is malformed stays as it came, too.

    Raises:
        Whatever the client's ``entity_to_protobuf`` raises for a value of the entity.
    """
    if not isinstance(entity, LazyEntityBase):
        serialised: bytes = entity_message(entity).SerializeToString()
        return serialised
    if _is_untouched(entity):
        return entity._raw
    changes = _Changes(entity)
    try:
        serialised = changes.edited_message().SerializeToString()
    except DecodeError:
        serialised = changes.spliced_bytes()
    return serialised


def _client_message(entity: Entity) -> Any:
    return _stock_entity_to_protobuf(entity)._pb  # type: ignore[no-untyped-call]  # upstream is untyped


def _plain_message(entity: Entity) -> Any:
    message = messages.Entity()
    if entity.key is not None:
        message.key.CopyFrom(entity.key.to_protobuf()._pb)
    if entity:
        write_properties(
            message, entity, entity.exclude_from_indexes, entity._meanings, entity_message
        )
    return message


def _is_untouched(entity: LazyEntityBase) -> bool:
    return not touched_attributes(entity) and len(entity._undecoded()) == len(entity) == len(
        entity._layout.ordinals
    )


def _lazy_message(entity: LazyEntityBase) -> Any:
    changes = _Changes(entity)
    try:
        return changes.edited_message()
    except DecodeError:
        # What is malformed may have been deleted.
        raw = changes.spliced_bytes()
    try:
        return messages.Entity.FromString(raw)
    except DecodeError as error:
        raise errors.undecodable_entity(error, raw) from error


class _Changes:
    """What a lazy entity has that is not, or may not be, what it was made of.

    Raises:
        ValueError, google.protobuf.message.DecodeError: if something had to be decoded for this
            that cannot be.
    """

    def __init__(self, entity: LazyEntityBase) -> None:
        self._entity = entity
        attributes = touched_attributes(entity)
        wire_names = entity._layout.ordinals.keys()
        if "exclude_from_indexes" in attributes:
            # The flag is part of the property's bytes.
            flagged = entity._wire_excluded() ^ set(attributes["exclude_from_indexes"])
            for name in flagged & entity.keys():
                entity[name]
        self._properties = entity._decoded()
        rewritten = self._properties.keys() & wire_names
        undecoded = len(entity) - len(self._properties)
        deleted = wire_names - entity.keys() if len(rewritten) + undecoded < len(wire_names) else ()
        self._outdated = rewritten.union(deleted)
        self._excluded = (
            attributes["exclude_from_indexes"]
            if "exclude_from_indexes" in attributes
            else entity._wire_excluded(rewritten)
        )
        self._meanings = (
            attributes["_meanings"]
            if "_meanings" in attributes
            else entity._wire_meanings(rewritten)
        )
        self._key = attributes.get("key")
        self._has_new_key = "key" in attributes and not _is_wire_key(self._key, entity)

    def edited_message(self) -> Any:
        """Parse what the entity was made of, and put the changes in.

        Raises:
            google.protobuf.message.DecodeError: if it cannot be parsed.
        """
        message = messages.Entity.FromString(self._entity._raw)
        for name in self._outdated:
            del message.properties[name]
        self._write_into(message)
        return message

    def spliced_bytes(self) -> bytes:
        """Put together what is unchanged, unparsed, and the changes."""
        rest = shadow.EntityParts.FromString(self._entity._raw)
        rest.ClearField("properties")
        if self._has_new_key:
            rest.ClearField("key")
        untouched = shadow.EntityEntries()
        names = [name for name in self._entity if name not in self._properties]
        for name, value in zip(names, self._entity._serialised_values(names), strict=True):
            untouched.properties.add(key=name.encode(), value=value)
        changed = messages.Entity()
        self._write_into(changed)
        # Protobuf defines that concatenated encodings are merged; these have no field in common.
        parts = (
            rest.SerializeToString(),
            untouched.SerializeToString(),
            changed.SerializeToString(),
        )
        return b"".join(parts)

    def _write_into(self, message: Any) -> None:
        if self._has_new_key:
            message.ClearField("key")
            if self._key is not None:
                message.key.CopyFrom(self._key.to_protobuf()._pb)
        write_properties(message, self._properties, self._excluded, self._meanings, entity_message)


def _is_wire_key(key: Key | None, entity: LazyEntityBase) -> bool:
    try:
        wire_key = entity._wire_key()
    except (DecodeError, ValueError):
        # Nobody can have read a key that cannot be read: this one was set.
        return False
    return key is wire_key or bool(key == wire_key)
