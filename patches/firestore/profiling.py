"""Counting for a profile of documents: the fields of each, and those that are read.

The kind of a document is the name of its collection. Nothing that is read stays in a snapshot, so
a field counts each time that it is decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.cloud.firestore_v1.field_path import parse_field_path

from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.profiling import observer

if TYPE_CHECKING:
    from lazyentity.patches.firestore.responses import DocumentResponse
    from lazyentity.profiling.counters import EntityCounts


def count_document(response: DocumentResponse, is_stock: bool) -> EntityCounts | None:
    """Count the document of a response.

    Args:
        response: as a stub gave it.
        is_stock: whether a stock snapshot is made of it.

    Returns:
        The count of the fields to be read; None, if no profile runs or all of them are decoded.
    """
    data = observer.data
    if data is None:
        return None
    parts = response.name.split("/")
    counts = data.counts(parts[-2] if len(parts) > 1 else None)
    if is_stock:
        counts.receive_eager(len(response.raw))
        return None
    return counts.receive(_names(response), len(response.raw))


def _names(response: DocumentResponse) -> list[str]:
    try:
        return sorted(response.parsed_document().fields)
    except Exception as error:  # noqa: BLE001  # the client raises it where somebody reads the document
        raise_if_of_handler(error)
        return []


def count_fields(entity_counts: EntityCounts | None, fields: Any) -> None:
    """Count the fields of a document, which were decoded all together."""
    if entity_counts is not None and type(fields) is dict:
        entity_counts.decode(list(fields), "to_dict()")


def count_value(entity_counts: EntityCounts | None, field_path: str) -> None:
    """Count the field of a document at the beginning of a path, which was decoded."""
    if entity_counts is not None:
        entity_counts.decode((parse_field_path(field_path)[0],))
