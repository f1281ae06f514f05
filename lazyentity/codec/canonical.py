"""The canonical encoding of an entity: what servers send, and what an index can rely on.

Each entry of the properties is one name and then one value, and nothing else; the key comes once.
"""

from __future__ import annotations

from collections.abc import Iterator
from lazyentity.codec import messages, shadow
from lazyentity.codec.layout import LAYOUTS, Layout


def canonical_encodings(raw: bytes) -> Iterator[bytes]:
    """Encode the serialised entity ``raw`` as protobuf does.

    The second encoding is without the fields that are unknown to the client, among which may be
    entries that an index cannot tell from properties.

    Raises:
        google.protobuf.message.DecodeError: if anything in ``raw`` is malformed.
    """
    message = messages.Entity.FromString(raw)
    yield message.SerializeToString()
    message.DiscardUnknownFields()
    yield message.SerializeToString()


def index_canonical(raw: bytes) -> tuple[bytes, Layout]:
    """Index the serialised entity ``raw``.

    Returns:
        The entity, in the canonical encoding; its layout, with the names in wire order.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` or one of its entries is malformed or
            truncated, or if a name is not UTF-8. Values are looked into only if the encoding is unusual.
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
    split = shadow.EntityEntries.FromString(raw)
    # Protobuf keeps the order of entries and writes the fields of each in the order of their numbers,
    # once. What comes out as it went in was encoded like that.
    if split.SerializeToString() != raw:
        return None
    merged = shadow.EntityNames.FromString(raw).properties
    merged.ClearField("value")
    # The names, one after the other, and whatever else than a value was in an entry: upb takes an entry
    # with an unknown field for an unknown field as a whole.
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
