"""A loopback server of Firestore with canned documents.

As a command, ``python -m lazyentity.bench.measure.document_server`` prints its port, and ends when
its standard input is closed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from google.cloud.firestore_v1.types import firestore as types

from lazyentity.bench.measure import documents

SERVICE = "google.firestore.v1.Firestore"
_STOP_SECONDS = 10


def _run_query(request: Any, context: Any) -> Iterator[bytes]:
    query = request.structured_query
    for number in range(query.limit.value):
        yield documents.query_response(query.from_[0].collection_id, number)


def _batch_get(request: Any, context: Any) -> Iterator[bytes]:
    for name in request.documents:
        collection_id, _, document_id = name.removeprefix(f"{documents.DOCUMENTS}/").rpartition("/")
        yield documents.lookup_response(collection_id, int(document_id[1:]))


def _commit(request: Any, context: Any) -> bytes:
    response: Any = types.CommitResponse(write_results=[{}] * len(request.writes))
    raw: bytes = types.CommitResponse.serialize(response)
    return raw


def serve() -> None:
    """Serve until the standard input is closed."""
    server = grpc.server(ThreadPoolExecutor(4))
    handlers: dict[str, Any] = {
        "RunQuery": grpc.unary_stream_rpc_method_handler(
            _run_query, request_deserializer=types.RunQueryRequest.pb().FromString
        ),
        "Commit": grpc.unary_unary_rpc_method_handler(
            _commit, request_deserializer=types.CommitRequest.pb().FromString
        ),
        "BatchGetDocuments": grpc.unary_stream_rpc_method_handler(
            _batch_get, request_deserializer=types.BatchGetDocumentsRequest.pb().FromString
        ),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop(None).wait()


@contextmanager
def running() -> Iterator[int]:
    """Run the server in a process while inside; gives its port."""
    with subprocess.Popen(
        [sys.executable, "-m", __spec__.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(_STOP_SECONDS)


if __name__ == "__main__":
    serve()
