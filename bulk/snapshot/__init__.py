"""A kind, or the results of any query, kept in one file and read back as lazy entities."""

from lazyentity.snapshot.errors import CorruptEntity, SnapshotError
from lazyentity.snapshot.files import Refreshed
from lazyentity.snapshot.snapshots import Snapshot

__all__ = ["CorruptEntity", "Refreshed", "Snapshot", "SnapshotError"]
