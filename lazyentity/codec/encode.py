"""A changed entity as bytes again: what was never decoded is spliced in as it came."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity._backend import LazyMapping
from lazyentity.codec import shadow


def encode_stock(entity: Entity) -> bytes:
    """Serialise ``entity`` with the client's own encoder.

    Raises:
        ValueError: as the client raises it, for a value that Datastore has no type for.
    """
    serialised: bytes = helpers.entity_to_protobuf(entity)._pb.SerializeToString()
    return serialised


def encode_lazy(entity: Any, attributes: dict[str, Any]) -> bytes:
    """Serialise a lazy entity.

    Undecoded properties and an untouched key are copied as they came, with all that is unknown to
    this client's schema. Everything else goes through the client's own encoder.

    Args:
        entity: a :class:`~lazyentity.entity.LazyEntityBase`.
        attributes: which of ``key``, ``exclude_from_indexes`` and ``_meanings`` were looked at, and
            may so have been changed.

    Raises:
        ValueError: as the client raises it, for a value that Datastore has no type for.
        google.protobuf.message.DecodeError: if something malformed had to be decoded for this.
        RuntimeError: if the entity is a part of one, see :mod:`lazyentity.detached`.
    """
    entity._require_writable()
    mapping: LazyMapping = entity
    undecoded = mapping._undecoded()
    if not attributes and len(undecoded) == len(entity) == len(mapping._layout.ordinals):
        return mapping._raw
    spliced = set(undecoded)
    if "exclude_from_indexes" in attributes:
        # The flag is part of the property's bytes.
        spliced -= mapping._wire_excluded() ^ set(attributes["exclude_from_indexes"])

    changed = Entity()
    changed.update({name: entity._read_on_request(name) for name in entity if name not in spliced})
    if changed:
        changed.exclude_from_indexes = entity.exclude_from_indexes
        changed._meanings = entity._meanings

    # The key, and what is unknown to the client.
    rest = shadow.EntityParts.FromString(mapping._raw)
    rest.ClearField("properties")
    if "key" in attributes and not _is_wire_key(attributes["key"], mapping):
        rest.ClearField("key")
        changed.key = attributes["key"]

    names = [name for name in entity if name in spliced]
    untouched = shadow.EntityEntries()
    for name, value in zip(names, mapping._serialised_values(names), strict=True):
        untouched.properties.add(key=name.encode(), value=value)

    # Protobuf defines that concatenated encodings are merged; these have no field in common.
    parts = (rest.SerializeToString(), untouched.SerializeToString(), encode_stock(changed))
    return b"".join(parts)


def _is_wire_key(key: Key | None, mapping: LazyMapping) -> bool:
    try:
        return bool(key == mapping._wire_key())
    except (DecodeError, ValueError):
        # Nobody can have read a key that cannot be read: this one was set.
        return False
