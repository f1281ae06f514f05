"""Snapshots of documents that an application kept as bytes."""

from __future__ import annotations

from typing import Any

from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.cloud.firestore_v1.types import document as document_pb2

from lazyentity._mode import is_eager
from lazyentity.codec.describing import safe_repr
from lazyentity.patches.firestore.references import reference_of
from lazyentity.patches.firestore.responses import RESPONSES, QueryResponse
from lazyentity.patches.firestore.snapshots import snapshot_of
from lazyentity.patches.firestore.sources import QUERY
from lazyentity.patches.firestore.wrapping import install

_Document = document_pb2.Document.pb()
_Response = QueryResponse._real.pb()


def from_bytes(raw: bytes, client: Any) -> Any:
    """As :func:`lazyentity.patches.firestore.from_bytes`."""
    document = _Document.FromString(raw)
    prefix = f"{client._database_string}/documents/"
    if not document.name.startswith(prefix):
        raise ValueError(
            f"{safe_repr(document.name)} is no document in {safe_repr(client._database_string)}; "
            "pass a client of its database"
        )
    reference = reference_of(client, document.name)
    install()
    response = QueryResponse.deserialize(_Response(document=document).SerializeToString())
    if type(response) in RESPONSES:
        response._is_eager = is_eager() or None
        return snapshot_of(response, reference, QUERY, is_received=False)
    # Some of its times are no timestamps.
    found = response.document
    fields = _helpers.decode_dict(found.fields, client)
    return DocumentSnapshot(reference, fields, True, None, found.create_time, found.update_time)
