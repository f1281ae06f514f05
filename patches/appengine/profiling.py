"""Counting for a profile of the entities of ``google.appengine.api.datastore``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.profiling import observer

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts


class CountedIndex:
    """The index of a counted entity: counts the first reading of each property.

    Args:
        index: the :class:`~lazyentity._backend.protocols.PropertyIndex`.
        entity_counts: of the entity.
    """

    __slots__ = ("_counted", "_entity_counts", "_index")

    def __init__(self, index: Any, entity_counts: EntityCounts) -> None:
        self._index = index
        self._entity_counts = entity_counts
        self._counted: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def value(self, name: str, text: bool) -> Any:
        """As of the index."""
        return self._read(name, self._index.value(name, text))

    def contents(self, name: str, refused: int) -> Any:
        """As of the index."""
        return self._read(name, self._index.contents(name, refused))

    def take(self, storage: Any, stored: Any, name: str, refused: int | None, kind: Any) -> Any:
        """As of the index."""
        return self._read(name, self._index.take(storage, stored, name, refused, kind))

    def properties(self, name: str) -> list[bytes]:
        """As of the index."""
        properties: list[bytes] = self._read(name, self._index.properties(name))
        return properties

    def _read(self, name: str, read: Any) -> Any:
        # UNDECODED is followed by another attempt.
        if read is not UNDECODED and name not in self._counted:
            self._counted.add(name)
            self._entity_counts.decode((name,))
        return read


def counted(pb: Any, index: Any, is_stock: bool = False) -> Any:
    """Count an entity, if a profile runs; return its index, which counts what is read then.

    Args:
        pb: the message of the entity.
        index: its index.
        is_stock: whether the caller gets a stock entity of it.
    """
    data = observer.data
    if data is None:
        return index
    path = pb.key.path.element
    counts = data.counts(path[-1].type if path else None)
    if is_stock:
        counts.receive_eager(len(index.raw))
        return index
    return CountedIndex(index, counts.receive(index.names, len(index.raw)))
