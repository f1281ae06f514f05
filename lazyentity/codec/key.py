"""The key of a serialised entity."""

from __future__ import annotations

from google.cloud.datastore import helpers
from google.cloud.datastore.key import Key

from lazyentity.codec import messages, shadow


def key_from_raw(raw: bytes) -> Key | None:
    """Decode the key of the serialised entity ``raw``; None if it has none.

    Raises:
        google.protobuf.message.DecodeError: if the bytes of the key are malformed.
        ValueError: as the client raises it, if it could not have converted the key.
    """
    occurrences = shadow.EntityParts.FromString(raw).key
    if not occurrences:
        return None
    key: Key = helpers.key_from_protobuf(messages.Key.FromString(b"".join(occurrences)))
    return key
