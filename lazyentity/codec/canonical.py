"""The canonical encoding of an entity: what servers send, and what an index can rely on.

Each entry of the properties is one name and then one value, and nothing else; the key comes once.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError

from lazyentity.codec import messages, shadow
from lazyentity.codec.layout import LAYOUTS, Layout


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


def index_canonical(raw: bytes) -> tuple[bytes, Layout]:
    """Index the serialised entity ``raw``.

    Returns:
        The entity, in the canonical encoding; its layout, with the names in wire order.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` or one of its entries is malformed or
            truncated, or if a name is not UTF-8. Values are looked into only if the encoding is
            unusual.
    """
    layout = _canonical_layout(raw)
    if layout is not None:
        return raw, layout
    for encoded in canonical_encodings(raw):
        layout = _canonical_layout(encoded)
        if layout is not None:
            return encoded, layout
    raise AssertionError("protobuf encodes a map as entries of one name and one value")


def _canonical_layout(raw: bytes) -> Layout | None:
    try:
        split = shadow.EntityEntries.FromString(raw)
    except DecodeError:
        # Let the client's own message raise, whose name means something to people.
        messages.Entity.FromString(raw)
        raise
    # Protobuf keeps the order of entries and writes the fields of each in the order of their
    # numbers, once. What comes out as it went in was encoded like that.
    if split.SerializeToString() != raw:
        return None
    merged = shadow.EntityNames.FromString(raw).properties
    merged.ClearField("value")
    # The names, one after the other, and whatever else than a value was in an entry: upb takes an
    # entry with an unknown field for an unknown field as a whole.
    signature: bytes = merged.SerializeToString()
    layout: Layout | None = LAYOUTS.get(signature)
    if layout is None:
        merged.DiscardUnknownFields()
        if merged.SerializeToString() != signature:
            return None
        try:
            names = [name.decode() for name in merged.key]
        except UnicodeDecodeError:
            return None
        layout = LAYOUTS.add(signature, names)
    return layout if len(layout.names) == len(split.properties) else None
