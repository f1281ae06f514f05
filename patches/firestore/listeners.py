"""Listeners: the fields of a changed document are decoded natively, when its event arrives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.cloud.firestore_v1.types import firestore as firestore_pb2

from lazyentity.native.documents import DocumentFields
from lazyentity.patches.firestore.responses import RESPONSES, QueryResponse
from lazyentity.patches.firestore.seams import GUARD
from lazyentity.patches.firestore.snapshots import CODEC, CONVERSION_ERRORS

_ListenResponse = firestore_pb2.ListenResponse
_RunQueryResponse = firestore_pb2.RunQueryResponse.pb()


def replace_on_snapshot(
    original: Callable[..., Any], is_active: Callable[[], bool]
) -> Callable[..., Any]:
    """Replace the method of a listener that takes an event.

    The client's method makes the snapshot, of the event without fields, which are set then.
    """

    @functools.wraps(original)
    def on_snapshot(self: Any, proto: Any) -> Any:
        is_known = (
            type(proto) is _ListenResponse and self._document_snapshot_cls is DocumentSnapshot
        )
        if not (is_known and is_active() and GUARD.is_intact()):
            return original(self, proto)
        change = proto._pb.document_change
        fields = _decoded(change.document, self._firestore) if change.target_ids else None
        if fields is None:
            return original(self, proto)
        name = change.document.name
        before = self.change_map.get(name)
        result = original(self, _without_fields(change))
        snapshot = self.change_map.get(name)
        # Events of other targets leave the changes as they are.
        if snapshot is not before and type(snapshot) is DocumentSnapshot:
            snapshot._lazyentity_fields = fields  # type: ignore[attr-defined]
            del snapshot._data
        return result

    return on_snapshot


def _decoded(document: Any, client: Any) -> DocumentFields | None:
    """Return the fields of a document, all decoded; None, if the client has to convert them."""
    response = _RunQueryResponse(document=document)
    lazy = QueryResponse.deserialize(response.SerializeToString())
    if type(lazy) not in RESPONSES:
        return None
    fields: DocumentFields = lazy.fields(CODEC, client)
    try:
        fields.data()
    except CONVERSION_ERRORS:
        # The client raises it.
        return None
    return fields


def _without_fields(change: Any) -> Any:
    event = _ListenResponse()
    event._pb.document_change.target_ids.extend(change.target_ids)
    event._pb.document_change.removed_target_ids.extend(change.removed_target_ids)
    document = event._pb.document_change.document
    document.name = change.document.name
    for time in ("create_time", "update_time"):
        if change.document.HasField(time):
            getattr(document, time).CopyFrom(getattr(change.document, time))
    return event
