"""The canonical encoding of an entity: what servers send, and what an index can rely on.

Each entry of the properties is one name and then one value, and nothing else; the key comes once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec import messages, shadow
from lazyentity.pure.shapes import EMPTY, Layout, known_layout, new_layout


def canonical_encodings(raw: bytes) -> Iterator[bytes]:
    """Encode the serialised entity ``raw`` as protobuf does.

    The first encoding has everything that was in ``raw``. Where that cannot be indexed, because
    among the unknown fields are what looks like entries, the second is without these; the third is
    without any field that is unknown to ``Entity``. Fields unknown to the values are in all of
    them.

    Raises:
        google.protobuf.message.DecodeError: if anything in ``raw`` is malformed.
    """
    message = messages.Entity.FromString(raw)
    encoded = message.SerializeToString()
    yield encoded
    known = messages.Entity()
    if message.HasField("key"):
        known.key.CopyFrom(message.key)
    known.properties.MergeFrom(message.properties)
    known_encoded = known.SerializeToString()
    unknown = shadow.EntityParts.FromString(encoded)
    unknown.ClearField("key")
    unknown.ClearField("properties")
    yield known_encoded + unknown.SerializeToString()
    yield known_encoded


_parse_entries = shadow.EntityEntries.FromString
_parse_names = shadow.EntityNames.FromString

_last: tuple[bytes, Layout] = (b"", EMPTY)
"""The signature and the layout of the last entity that has a layout kept: the next one is often of
the same kind."""


def index_canonical(raw: bytes) -> tuple[bytes, Layout, Any]:
    """Index the serialised entity ``raw``.

    Returns:
        The entity, in the canonical encoding; its layout, with the names in wire order; its
        entries, as the shadow's messages of ``key`` and ``value``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` or one of its entries is malformed or
            truncated, or if a name is not UTF-8. Values are looked into only if the encoding is
            unusual.
    """
    indexed = _index(raw)
    if indexed is not None:
        return indexed
    for encoded in canonical_encodings(raw):
        indexed = _index(encoded)
        if indexed is not None:
            return indexed
    raise AssertionError("protobuf encodes a map as entries of one name and one value")


def _index(raw: bytes) -> tuple[bytes, Layout, Any] | None:
    global _last
    try:
        split = _parse_entries(raw)
    except DecodeError:
        # Let the client's own message raise, whose name means something to people.
        messages.Entity.FromString(raw)
        raise
    # Protobuf keeps the order of entries and writes the fields of each in the order of their
    # numbers, once. What comes out as it went in was encoded like that.
    if split.SerializeToString() != raw:
        return None
    merged = _parse_names(raw).properties
    merged.ClearField("value")
    # The names, one after the other, and whatever else than a value was in an entry: upb takes an
    # entry with an unknown field for an unknown field as a whole.
    signature: bytes = merged.SerializeToString()
    last_signature, layout = _last
    if signature != last_signature:
        known = known_layout(signature) or _learn(signature, merged)
        if known is None:
            return None
        layout = known
        if layout.template is not None:
            _last = (signature, layout)
    entries = split.properties
    return (raw, layout, entries) if len(layout.names) == len(entries) else None


def _learn(signature: bytes, merged: Any) -> Layout | None:
    """Return the layout of an entity whose names, as a shadow message, are ``merged``."""
    merged.DiscardUnknownFields()
    if merged.SerializeToString() != signature:
        return None
    try:
        names = [name.decode() for name in merged.key]
    except UnicodeDecodeError:
        return None
    return new_layout(signature, names)
