"""The canonical encoding of an entity: servers send it, and an index can rely on it.

Each entry of the properties is one name and then one value, and nothing else; the key comes once.
"""

from __future__ import annotations

from collections.abc import Iterator

from lazyentity.codec import messages, shadow


def canonical_encodings(raw: bytes) -> Iterator[bytes]:
    """Encode the serialised entity ``raw`` as protobuf does.

    An unknown field that looks like an entry makes an encoding impossible to index. So there are
    three encodings, each with less in it:

    - the first has everything that was in ``raw``;
    - the second lacks unknown fields that look like entries;
    - the third lacks every field that is unknown to ``Entity``.

    Fields unknown to the values are in all of them.

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
