"""The methods of a client's API that read and write documents, over its own transport.

A transport wraps each stub: with retries, the client's errors and its user agent. Here the stub
underneath is exchanged, once for each transport. Nothing else of the transport changes, and nothing
of the API object: it stays, with all that an application has set on it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.api_core import grpc_helpers, grpc_helpers_async
from google.cloud.firestore_v1.services.firestore import async_client, client
from google.cloud.firestore_v1.services.firestore.async_client import FirestoreAsyncClient
from google.cloud.firestore_v1.services.firestore.client import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport
from google.cloud.firestore_v1.services.firestore.transports.grpc_asyncio import (
    FirestoreGrpcAsyncIOTransport,
)
from google.cloud.firestore_v1.types import firestore as firestore_pb2

from lazyentity._mode import is_eager
from lazyentity.patches.firestore.messages import REQUESTS, serialised
from lazyentity.patches.firestore.responses import LookupResponse, QueryResponse
from lazyentity.patches.firestore.seams import CLIENT
from lazyentity.patches.firestore.streams import StreamingMethod, logged_channel
from lazyentity.patches.upstream import UpstreamModules

_READS: dict[str, tuple[str, Any, Any]] = {
    "batch_get_documents": (
        "BatchGetDocuments",
        firestore_pb2.BatchGetDocumentsRequest,
        LookupResponse,
    ),
    "run_query": ("RunQuery", firestore_pb2.RunQueryRequest, QueryResponse),
}
"""By the name of a method: its name in the API, and the classes of its request and responses."""

_WRITES: dict[str, tuple[str, Any]] = {
    "commit": ("Commit", firestore_pb2.CommitResponse),
    "batch_write": ("BatchWrite", firestore_pb2.BatchWriteResponse),
}
"""By the name of a method: its name in the API, and the class of its response."""

_APIS: dict[Any, tuple[Any, Callable[[Any], Any]]] = {
    FirestoreClient: (FirestoreGrpcTransport, grpc_helpers.wrap_errors),
    FirestoreAsyncClient: (FirestoreGrpcAsyncIOTransport, grpc_helpers_async.wrap_errors),
}
"""By the class of an API object: that of its transport, and what makes errors the client's."""

_upstream = UpstreamModules(client, async_client)
_methods = {kind: _upstream.methods(kind, *_READS) for kind in _APIS}


class _Reads:
    """The reads of a transport.

    Attributes:
        are_lazy: whether nobody gave the API object, or its class, other methods that read.
    """

    are_lazy = True

    def reader_of(
        self, readers: dict[bool | None, Callable[[bytes], Any]], request: Any
    ) -> Callable[[bytes], Any] | None:
        """Choose what makes the responses to a request; None for the client's messages."""
        attributes = vars(request)
        if _IS_EAGER in attributes:
            return readers[attributes[_IS_EAGER]]
        if self.are_lazy and CLIENT.patch.active and CLIENT.is_upstream():
            return readers[True if is_eager() else None]
        return None


_READS_OF, _IS_EAGER = "_lazyentity_reads", "_lazyentity_is_eager"


def read_lazily(api: Any) -> bool:
    """Have the reads of an API object choose their responses whenever an RPC is sent.

    Only the API objects that clients of either kind make for themselves can do that. Anything else
    (a mock, a subclass, an object with somebody's own method or transport) is left alone.

    Returns:
        Whether it can.
    """
    transport = getattr(api, "transport", None)
    kind, wrap_errors = _APIS.get(type(api), (None, None))
    if wrap_errors is None or type(transport) is not kind:
        return False
    reads = vars(transport).get(_READS_OF)
    if reads is None:
        reads = vars(transport).setdefault(_READS_OF, _Reads())
        _exchange_stubs(transport, wrap_errors, reads)
    reads.are_lazy = _methods[type(api)].are_upstream(api)
    return bool(reads.are_lazy)


def _exchange_stubs(transport: Any, wrap_errors: Callable[[Any], Any], reads: _Reads) -> None:
    for name in (*_READS, *_WRITES):
        stub = getattr(transport, name)
        wrapped = transport._wrapped_methods.get(stub)
        # Somebody's own method stays in charge.
        if getattr(getattr(wrapped, "_target", None), "__wrapped__", None) is stub:
            make = _reading_stub if name in _READS else _writing_stub
            wrapped._target = wrap_errors(make(transport, name, stub, reads))


def _path(method: str) -> str:
    return f"/google.firestore.v1.Firestore/{method}"


def _reading_stub(transport: Any, name: str, stub: Any, reads: _Reads) -> Any:
    method, request, lazy = _READS[name]
    readers: dict[bool | None, Any] = {None: lazy.deserialize}
    for mode in (False, True):
        readers[mode] = functools.partial(lazy.deserialize, is_eager=mode)
    return StreamingMethod(
        transport,
        _path(method),
        stub,
        (request.serialize, lazy._real.deserialize),
        functools.partial(reads.reader_of, readers),
    )


def _writing_stub(transport: Any, name: str, stub: Any, reads: _Reads) -> Any:
    method, response = _WRITES[name]
    return logged_channel(transport).unary_unary(
        _path(method),
        request_serializer=functools.partial(serialised, REQUESTS[name]),
        response_deserializer=response.deserialize,
    )


def api_in_mode(api: Any, mode: bool) -> Any:
    """Return a copy of an API object whose reads give eager or lazy responses, as ``mode`` says.

    Args:
        api: one for which :func:`read_lazily` has answered True.
        mode: whether stock snapshots are made of the responses.
    """
    made: Any = object.__new__(type(api))
    vars(made).update(vars(api))
    for name, (_, kind, _) in _READS.items():
        vars(made)[name] = functools.partial(_send, getattr(api, name), kind, mode)
    return made


def _send(method: Callable[..., Any], kind: Any, mode: bool, request: Any, **options: Any) -> Any:
    message = kind(request)
    vars(message)[_IS_EAGER] = mode
    return method(request=message, **options)
