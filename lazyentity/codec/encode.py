"""Entities as messages and as bytes again: what was never decoded stays as it came."""

from __future__ import annotations

from typing import Any, cast

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity._backend import write_properties
from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.write import UNKNOWN_DEPTH
from lazyentity.entity import LazyEntityBase, touched_attributes

# Bound before anything is patched.
stock_entity_to_protobuf = helpers.entity_to_protobuf

_UNREAD: Any = object()


def entity_message(entity: Entity) -> Any:
    """Return the upb ``google.datastore.v1.Entity`` message that the client makes of an entity.

    Of a lazy entity, undecoded properties and an untouched key stay as they came, with all that is
    unknown to this client's schema.

    Args:
        entity: a lazy or a stock entity.

    Raises:
        Whatever the client's ``entity_to_protobuf`` raises for a value of the entity.
        google.protobuf.message.DecodeError: if what is to stay as it came is malformed.
        RuntimeError: if the entity must not be written, see :mod:`lazyentity.detached`.
    """
    if isinstance(entity, LazyEntityBase):
        message = messages.Entity()
        _assign_lazy(message, entity)
        return message
    if type(entity) is Entity:
        return _plain_message(entity)[0]
    return _client_message(entity)


def assign_entity(target: Any, entity: Entity) -> int:
    """Make an empty upb ``Entity`` message, part of another, that of an entity.

    As :func:`entity_message`, without a copy of what a lazy entity was made of. Where that raises,
    ``target`` is as it was, unless it is for something malformed: then it is an empty entity.

    Args:
        target: a ``google.datastore.v1.Entity``.
        entity: a lazy or a stock entity.

    Returns:
        How many messages in messages the caller's values take, at most;
        :data:`~lazyentity.codec.write.UNKNOWN_DEPTH`, where that was not looked at.
    """
    if isinstance(entity, LazyEntityBase):
        return _assign_lazy(target, entity)
    if type(entity) is Entity:
        message, depth = _plain_message(entity)
    else:
        message, depth = _client_message(entity), UNKNOWN_DEPTH
    target.CopyFrom(message)
    return depth


def entity_bytes(entity: Entity) -> bytes:
    """Serialise an entity: as :func:`entity_message`, but what is malformed stays as it came, too.

    Raises:
        Whatever the client's ``entity_to_protobuf`` raises for a value of the entity.
        RuntimeError: as for :func:`entity_message`.
    """
    if isinstance(entity, LazyEntityBase):
        changes = _Changes(entity)
        if not changes:
            return entity._raw
        message = messages.Entity()
        try:
            changes.parse_untouched(message)
        except DecodeError:
            changed = messages.Entity()
            changes.write(changed)
            # Protobuf merges concatenated encodings; these have no field in common.
            return changes.untouched_bytes() + cast(bytes, changed.SerializeToString())
        changes.write(message)
    else:
        message = entity_message(entity)
    serialised: bytes = message.SerializeToString()
    return serialised


def _client_message(entity: Entity) -> Any:
    return stock_entity_to_protobuf(entity)._pb  # type: ignore[no-untyped-call]  # upstream is untyped


def _plain_message(entity: Entity) -> tuple[Any, int]:
    message = messages.Entity()
    depth = 0
    if entity.key is not None:
        message.key.CopyFrom(entity.key.to_protobuf()._pb)
    if entity:
        depth = write_properties(
            message, entity, entity.exclude_from_indexes, entity._meanings, entity_message
        )
    return message, depth


def _assign_lazy(target: Any, entity: LazyEntityBase) -> int:
    changes = _Changes(entity)
    try:
        changes.parse_untouched(target)
    except DecodeError:
        # What is malformed may have been deleted.
        raw = changes.untouched_bytes()
        target.Clear()
        try:
            target.MergeFromString(raw)
        except DecodeError as error:
            target.Clear()
            raise errors.undecodable_entity(error, raw) from error
    try:
        return changes.write(target)
    except BaseException:
        target.Clear()
        raise


class _Changes:
    """What a lazy entity has that is not, or may not be, what it was made of.

    Raises:
        RuntimeError: if the entity must not be written, see :mod:`lazyentity.detached`.
        ValueError, google.protobuf.message.DecodeError: if something had to be decoded for this
            that cannot be.
    """

    def __init__(self, entity: LazyEntityBase) -> None:
        entity._require_writable()
        self._entity = entity
        attributes = self._attributes = touched_attributes(entity)
        wire_names = entity._layout.ordinals.keys()
        # Flag and meaning are part of the property's bytes.
        for name in _reflagged(entity, attributes):
            entity._read_on_request(name)
        if "_meanings" in attributes:
            # Replaced before any was read, or what was read left nothing undecoded with a meaning.
            unread = entity._undecoded()
            entity._wire_meanings(unread)
            for name in unread:
                if name in attributes["_meanings"]:
                    entity._read_on_request(name)
        self._properties = entity._decoded()
        rewritten = self._properties.keys() & wire_names
        undecoded = len(entity) - len(self._properties)
        deleted = wire_names - entity.keys() if len(rewritten) + undecoded < len(wire_names) else ()
        self._rewritten = rewritten
        self._deleted = deleted
        self._has_new_key = "key" in attributes and not _is_wire_key(attributes["key"], entity)

    def __bool__(self) -> bool:
        return bool(self._properties or self._deleted or self._has_new_key)

    def parse_untouched(self, target: Any) -> None:
        """Parse what the entity was made of into the empty message ``target``.

        What :meth:`write` is to write may be in there as it was.

        Raises:
            google.protobuf.message.DecodeError: if it cannot be parsed.
        """
        target.MergeFromString(self._entity._raw)
        for name in self._deleted:
            del target.properties[name]
        if self._has_new_key:
            target.ClearField("key")

    def write(self, target: Any) -> int:
        """Put the changes into a message that has nothing else but what is untouched.

        Args:
            target: a ``google.datastore.v1.Entity``; left in any state, if this raises.

        Returns:
            How many messages in messages the values take, as ``write_properties`` tells it.

        Raises:
            Whatever the client's encoder raises for a value.
        """
        entity, attributes = self._entity, self._attributes
        if self._has_new_key and attributes["key"] is not None:
            target.key.CopyFrom(attributes["key"].to_protobuf()._pb)
        if not self._properties:
            return 0
        excluded = attributes.get("exclude_from_indexes", _UNREAD)
        if excluded is _UNREAD:
            excluded = entity._wire_excluded(self._rewritten)
        meanings = attributes.get("_meanings", _UNREAD)
        if meanings is _UNREAD:
            meanings = entity._wire_meanings(self._rewritten)
        return write_properties(target, self._properties, excluded, meanings, entity_message)

    def untouched_bytes(self) -> bytes:
        """Put together, unparsed, what :meth:`write` does not write."""
        rest = shadow.EntityParts.FromString(self._entity._raw)
        rest.ClearField("properties")
        if self._has_new_key:
            rest.ClearField("key")
        untouched = shadow.EntityEntries()
        names = [name for name in self._entity if name not in self._properties]
        for name, value in zip(names, self._entity._serialised_values(names), strict=True):
            untouched.properties.add(key=name.encode(), value=value)
        return cast(bytes, rest.SerializeToString() + untouched.SerializeToString())


def _reflagged(entity: LazyEntityBase, attributes: dict[str, Any]) -> Any:
    """Return the undecoded properties, and perhaps others, whose index flag was changed."""
    if "exclude_from_indexes" not in attributes:
        return ()
    excluded, on_wire = attributes["exclude_from_indexes"], entity._wire_excluded()
    if type(excluded) is set:
        return (on_wire ^ excluded) & entity.keys()
    # The client asks nothing of it but "in": of a str, that is about its parts.
    return [name for name in entity._undecoded() if (name in excluded) != (name in on_wire)]


def _is_wire_key(key: Key | None, entity: LazyEntityBase) -> bool:
    try:
        wire_key = entity._wire_key()
    except (DecodeError, ValueError):
        # Nobody can have read a key that cannot be read: this one was set.
        return False
    if key is wire_key:
        # Nothing but its private attributes can have been changed.
        return key is None or vars(key) == vars(type(entity)._from_raw(entity._raw)._wire_key())
    return type(key) is Key and bool(key == wire_key)
