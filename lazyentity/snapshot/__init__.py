"""The results of a query, stored in one file and read back as lazy entities."""

try:
    import zstandard as _zstandard  # noqa: F401  # it is needed below
except ImportError as _error:
    raise ImportError(
        f"lazyentity.snapshot needs {_error.name}: pip install {_error.name}", name=_error.name
    ) from _error

from lazyentity.snapshot.format import CorruptEntity, SnapshotError
from lazyentity.snapshot.snapshots import Snapshot

__all__ = ["CorruptEntity", "Snapshot", "SnapshotError"]
