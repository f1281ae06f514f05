"""Synthetic documents of Firestore, as a server sends them: one response for each."""

from __future__ import annotations

import functools
from typing import Any

from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.types import document as document_types
from google.cloud.firestore_v1.types import firestore as types

from lazyentity.bench.cases import synthetic

DOCUMENTS = f"projects/{synthetic.PROJECT}/databases/(default)/documents"


def collection(mix: str, fields: int) -> str:
    """Return the name of the collection whose documents have this shape."""
    return f"{mix}-{fields}"


def path(collection_id: str, number: int) -> str:
    """Return the path of a document within the database."""
    return f"{collection_id}/d{number}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def fields_of(collection_id: str, number: int) -> dict[str, Any]:
    """Return the fields of a document of a collection; its values depend on ``number``."""
    mix, _, fields = collection_id.rpartition("-")
    made: dict[str, Any] = _plain(synthetic.MIXES[mix].part(int(fields), number * 37))
    return made


def document(collection_id: str, number: int) -> document_types.Document:
    """Return a document of a collection, with the fields of :func:`fields_of`."""
    values = fields_of(collection_id, number)
    when = synthetic.MIXES["mixed"].part(5, number)["created_004"]
    return document_types.Document(
        name=f"{DOCUMENTS}/{path(collection_id, number)}",
        fields=_helpers.encode_dict(values),
        create_time=when,
        update_time=when,
    )


@functools.cache
def query_response(collection_id: str, number: int) -> bytes:
    """Return the serialised response to a query with a document."""
    made = document(collection_id, number)
    response = types.RunQueryResponse(document=made, read_time=made.update_time)
    raw: bytes = types.RunQueryResponse.serialize(response)
    return raw


@functools.cache
def lookup_response(collection_id: str, number: int) -> bytes:
    """Return the serialised response to a look-up with a document."""
    made = document(collection_id, number)
    response = types.BatchGetDocumentsResponse(found=made, read_time=made.update_time)
    raw: bytes = types.BatchGetDocumentsResponse.serialize(response)
    return raw
