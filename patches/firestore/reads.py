"""The replacements of functions of google-cloud-firestore that read.

Each ``replace_...`` is the ``replace`` of a :class:`~lazyentity.patches.registry.Seam`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.firestore_v1 import base_client, base_query, document
from google.cloud.firestore_v1.base_document import DocumentSnapshot

from lazyentity._dispatch import register
from lazyentity.patches.firestore import operations
from lazyentity.patches.firestore.references import reference_in, reference_of
from lazyentity.patches.firestore.responses import RESPONSES
from lazyentity.patches.firestore.snapshots import snapshot_of
from lazyentity.patches.firestore.sources import LOOKUP, QUERY, source_of
from lazyentity.patches.firestore.transports import read_lazily
from lazyentity.patches.upstream import is_upstream

register(DocumentSnapshot, operations)

# Their types do not export the class of snapshots.
_base_client: Any = base_client
_document: Any = document


def replace_api(original: property, is_active: Callable[[], bool]) -> property:
    """Replace the property of a client that gives its API object."""

    @functools.wraps(original.fget)  # type: ignore[arg-type]  # a getter it has
    def _firestore_api(client: Any) -> Any:
        api = original.__get__(client)
        if is_active():
            read_lazily(api)
        return api

    return property(_firestore_api)


def replace_lookup_conversion(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the function that makes a snapshot of a response to a look-up."""
    if not is_upstream(original, base_client):
        # Somebody else's function stays in charge. It gets proxies, and may ask them for anything.
        return original

    @functools.wraps(original)
    def _parse_batch_get(get_doc_response: Any, reference_map: Any, client: Any) -> Any:
        if (
            type(get_doc_response) in RESPONSES
            and not get_doc_response._is_whole
            and _base_client.DocumentSnapshot is DocumentSnapshot
        ):
            reference = reference_map.get(get_doc_response.name)
            if reference is not None:
                return snapshot_of(get_doc_response, reference, LOOKUP)
        return original(get_doc_response, reference_map, client)

    return _parse_batch_get


def replace_query_conversion(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the function that makes a snapshot of a response to a query."""
    if not is_upstream(original, base_query):
        # Somebody else's function stays in charge. It gets proxies, and may ask them for anything.
        return original

    @functools.wraps(original)
    def _query_response_to_snapshot(response_pb: Any, collection: Any, expected_prefix: Any) -> Any:
        if (
            type(response_pb) in RESPONSES
            and not response_pb._is_whole
            and _document.DocumentSnapshot is DocumentSnapshot
            and response_pb.is_in(expected_prefix)
        ):
            source, reference = source_of(collection), None
            if source is None:
                reference = reference_in(collection, response_pb.name.rpartition("/")[2])
            return snapshot_of(response_pb, reference, source or QUERY)
        return original(response_pb, collection, expected_prefix)

    return _query_response_to_snapshot


def replace_group_conversion(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the function that makes a snapshot of a response to a collection group's query."""
    if not is_upstream(original, base_query):
        # Somebody else's function stays in charge. It gets proxies, and may ask them for anything.
        return original

    @functools.wraps(original)
    def _collection_group_query_response_to_snapshot(response_pb: Any, collection: Any) -> Any:
        if (
            type(response_pb) in RESPONSES
            and not response_pb._is_whole
            and _document.DocumentSnapshot is DocumentSnapshot
        ):
            reference = reference_of(collection._client, response_pb.name)
            snapshot = snapshot_of(response_pb, reference, QUERY)
            # The client leaves these times as messages.
            snapshot.read_time, snapshot.create_time, snapshot.update_time = (
                response_pb.time_messages()
            )
            return snapshot
        return original(response_pb, collection)

    return _collection_group_query_response_to_snapshot
