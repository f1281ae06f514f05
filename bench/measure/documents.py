"""Synthetic documents of Firestore, and a loopback server that sends them: one in a response.

As a command, ``python -m lazyentity.bench.measure.documents`` is the server. It prints its port,
and ends when its standard input is closed.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import grpc
from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.types import document as document_types
from google.cloud.firestore_v1.types import firestore as types

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import processes

DOCUMENTS = f"projects/{synthetic.PROJECT}/databases/(default)/documents"
SERVICE = "google.firestore.v1.Firestore"


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
def _response(kind: Any, field: str, collection_id: str, number: int) -> bytes:
    made = document(collection_id, number)
    raw: bytes = kind.serialize(kind(**{field: made, "read_time": made.update_time}))
    return raw


query_response = functools.partial(_response, types.RunQueryResponse, "document")
lookup_response = functools.partial(_response, types.BatchGetDocumentsResponse, "found")
"""Return the serialised response to a query, or to a look-up, with a document of a collection."""


def _run_query(request: Any, context: Any) -> Iterator[bytes]:
    query = request.structured_query
    for number in range(query.limit.value):
        yield query_response(query.from_[0].collection_id, number)


def _batch_get(request: Any, context: Any) -> Iterator[bytes]:
    for name in request.documents:
        collection_id, _, document_id = name.removeprefix(f"{DOCUMENTS}/").rpartition("/")
        yield lookup_response(collection_id, int(document_id[1:]))


def _commit(request: Any, context: Any) -> bytes:
    response: Any = types.CommitResponse(write_results=[{}] * len(request.writes))
    raw: bytes = types.CommitResponse.serialize(response)
    return raw


def serve() -> None:
    """Serve until the standard input is closed."""
    server = grpc.server(ThreadPoolExecutor(4))
    stream, unary = grpc.unary_stream_rpc_method_handler, grpc.unary_unary_rpc_method_handler
    handlers: dict[str, Any] = {
        "RunQuery": stream(_run_query, types.RunQueryRequest.pb().FromString),
        "Commit": unary(_commit, types.CommitRequest.pb().FromString),
        "BatchGetDocuments": stream(_batch_get, types.BatchGetDocumentsRequest.pb().FromString),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop(None).wait()


def running() -> AbstractContextManager[int]:
    """Run the server in a process while inside; gives its port."""
    return processes.serving(__name__)


if __name__ == "__main__":
    serve()
