"""Counting for a profile of documents: the fields of each, and those that are read.

The kind of a document is the name of its collection. Nothing that is read stays in a snapshot, so
a field counts each time that it is decoded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.firestore_v1.field_path import parse_field_path

from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.firestore import reads, snapshots
from lazyentity.patches.firestore.responses import DocumentResponse
from lazyentity.patches.firestore.sources import Source
from lazyentity.profiling import observer
from lazyentity.profiling.observer import while_running


def _counting_entities(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def snapshot_of(response: DocumentResponse, reference: Any, source: Source) -> Any:
        data = observer.data
        if data is not None:
            parts = response.name.split("/")
            call_site = data.call_site(data.site(), parts[-2] if len(parts) > 1 else None)
            call_site.has_no_options = True
            if snapshots.is_stock(response):
                call_site.count_eager(len(response.raw))
            else:
                names = _names(response)
                entity_counts = call_site.counter.add(names, None, len(response.raw))
                source = source.counted(entity_counts)
        return original(response, reference, source)

    return snapshot_of


def _names(response: DocumentResponse) -> list[str]:
    try:
        return sorted(response.parsed_document().fields)
    except Exception as error:  # noqa: BLE001  # the client raises it where somebody reads the document
        raise_if_of_handler(error)
        return []


def _counting_fields(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def decoded_fields(snapshot: Any) -> Any:
        fields = original(snapshot)
        entity_counts = snapshots.counts_of(snapshot)
        if entity_counts is not None and type(fields) is dict:
            entity_counts.copied_whole(list(fields), "to_dict()")
        return fields

    return decoded_fields


def _counting_values(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def decoded_value(snapshot: Any, field_path: Any) -> Any:
        value = original(snapshot, field_path)
        entity_counts = snapshots.counts_of(snapshot)
        if value is not UNDECODED and entity_counts is not None:
            name = parse_field_path(field_path)[0]
            entity_counts.copied([name])
        return value

    return decoded_value


while_running(reads, "snapshot_of", _counting_entities)
while_running(snapshots, "decoded_fields", _counting_fields)
while_running(snapshots, "decoded_value", _counting_values)
