"""The errors of snapshots."""

from __future__ import annotations

from google.cloud.datastore.key import Key

from lazyentity.codec.describing import safe_repr


class SnapshotError(Exception):
    """A snapshot cannot be used, or not be refreshed so; the text says why. It stays unchanged."""


class CorruptEntity(SnapshotError):
    """The stored bytes of an entity are damaged. The other entities can be read.

    Args:
        key: see below.
        reason: what is wrong with the bytes.

    Attributes:
        key: the key of the entity; the stored bytes of the key, if these are damaged.
    """

    def __init__(self, key: Key | bytes, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(
            f"the stored entity {safe_repr(key)} is damaged: {reason}. Write the file anew by "
            "refresh(query, replace=True)."
        )

    def __reduce__(self) -> tuple[type[CorruptEntity], tuple[Key | bytes, str]]:
        return type(self), (self.key, self.reason)
