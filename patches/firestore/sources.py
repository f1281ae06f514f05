"""The origin of lazy snapshots; the snapshots of a query share it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from lazyentity.patches.firestore.references import (
    has_plain_path,
    has_plain_references,
    reference_in,
)
from lazyentity.patches.firestore.responses import DocumentResponse, LookupResponse, QueryResponse

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts


class Source:
    """The parts of a lazy snapshot beside its bytes; it never changes.

    Attributes:
        kind: the class of its response.
        collection: of the document; None, if the snapshot has its reference.
        is_copied: whether the snapshot was copied deeply.
        entity_counts: of the document, if a profile runs.
    """

    __slots__ = ("__weakref__", "collection", "entity_counts", "is_copied", "kind")

    def __init__(
        self,
        kind: type[DocumentResponse],
        collection: Any = None,
        is_copied: bool = False,
        entity_counts: EntityCounts | None = None,
    ) -> None:
        self.kind, self.collection = kind, collection
        self.is_copied, self.entity_counts = is_copied, entity_counts

    def reference(self, response: DocumentResponse) -> Any:
        """Return a new reference to the document of a response in the collection."""
        return reference_in(self.collection, response.name.rpartition("/")[2])

    def counted(self, entity_counts: EntityCounts) -> Source:
        """Return the source of the same document with a count."""
        return Source(self.kind, self.collection, self.is_copied, entity_counts)

    def __deepcopy__(self, memo: Any) -> Source:
        # A copy of a reference has the same client.
        return Source(self.kind, self.collection, True, self.entity_counts)

    def __reduce__(self) -> Any:
        return Source, (self.kind, self.collection, True)


LOOKUP, QUERY = Source(LookupResponse), Source(QueryResponse)
"""The sources of snapshots that have their references."""

_latest: Any = weakref.ref(QUERY)
# By the ids of their collections, which they keep alive.
_sources: weakref.WeakValueDictionary[int, Source] = weakref.WeakValueDictionary()


def source_of(collection: Any) -> Source | None:
    """Return the source of the documents of a query.

    Args:
        collection: in which it looks for them.

    Returns:
        The same one for all of its snapshots, while one of them lives. None, if the client has to
        make the references.
    """
    global _latest
    if not has_plain_references(collection):
        return None
    source: Source | None = _latest()
    if source is not None and source.collection is collection:
        return source
    # Several queries may be read in turn.
    source = _sources.get(id(collection))
    if source is None:
        if not has_plain_path(collection):
            return None
        source = _sources[id(collection)] = Source(QueryResponse, collection)
    _latest = weakref.ref(source)
    return source
