"""The generated gRPC client and its transport, with documents left undecoded.

The transport here differs from the generated one in the classes of the responses to the two methods
that stream documents, and in the serialiser of requests with writes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.firestore_v1.services.firestore.async_client import FirestoreAsyncClient
from google.cloud.firestore_v1.services.firestore.client import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.base import DEFAULT_CLIENT_INFO
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport
from google.cloud.firestore_v1.services.firestore.transports.grpc_asyncio import (
    FirestoreGrpcAsyncIOTransport,
)
from google.cloud.firestore_v1.types import firestore as firestore_pb2

from lazyentity.patches.firestore.messages import REQUESTS, serialised
from lazyentity.patches.firestore.responses import LookupResponse, QueryResponse
from lazyentity.patches.firestore.streams import logged_channel, read_by_caller

_READS: dict[str, tuple[str, Any, Any, Any]] = {
    "batch_get_documents": (
        "BatchGetDocuments",
        firestore_pb2.BatchGetDocumentsRequest,
        firestore_pb2.BatchGetDocumentsResponse,
        LookupResponse,
    ),
    "run_query": (
        "RunQuery",
        firestore_pb2.RunQueryRequest,
        firestore_pb2.RunQueryResponse,
        QueryResponse,
    ),
}
"""By the name of a method: its name in the API, the class of its request, both of its response."""

_WRITES: dict[str, tuple[str, Any]] = {
    "commit": ("Commit", firestore_pb2.CommitResponse),
    "batch_write": ("BatchWrite", firestore_pb2.BatchWriteResponse),
}
"""By the name of a method: its name in the API, and the class of its response."""


def _stub(make: Callable[[Any, str], Any], name: str) -> Any:
    """Return the property of a transport that gives the stub of a method."""

    def stub(transport: Any) -> Any:
        # _stubs is upstream's cache; its wrapped methods are keyed by the very stub.
        if name not in transport._stubs:
            transport._stubs[name] = make(transport, name)
        return transport._stubs[name]

    return property(stub)


def _path(method: str) -> str:
    return f"/google.firestore.v1.Firestore/{method}"


def _read_stub(transport: Any, name: str) -> Any:
    method, request, _, lazy = _READS[name]
    return read_by_caller(transport, _path(method), request.serialize, lazy.deserialize)


def _write_stub(transport: Any, name: str) -> Any:
    method, response = _WRITES[name]
    return logged_channel(transport).unary_unary(
        _path(method),
        request_serializer=functools.partial(serialised, REQUESTS[name]),
        response_deserializer=response.deserialize,
    )


class LazyFirestoreGrpcTransport(FirestoreGrpcTransport):
    """The client's gRPC transport, with lazy responses."""

    commit = _stub(_write_stub, "commit")
    batch_write = _stub(_write_stub, "batch_write")
    batch_get_documents = _stub(_read_stub, "batch_get_documents")
    run_query = _stub(_read_stub, "run_query")


def _async_read_stub(transport: Any, name: str) -> Any:
    method, request, _, lazy = _READS[name]
    return logged_channel(transport).unary_stream(
        _path(method),
        request_serializer=request.serialize,
        response_deserializer=lazy.deserialize,
    )


class LazyFirestoreGrpcAsyncIOTransport(FirestoreGrpcAsyncIOTransport):
    """The asyncio transport of a wrapped client; one that exists is copied into it."""

    batch_get_documents = _stub(_async_read_stub, "batch_get_documents")
    run_query = _stub(_async_read_stub, "run_query")


_LAZY_API = "_lazyentity_api"


def lazy_api(api: Any) -> Any:
    """Return the lazy counterpart of a client's API object; the same one each time.

    Only the API objects that clients of either kind make for themselves have one. Anything else (a
    mock, a subclass, an object with somebody's own method or transport) is returned as it is.
    """
    transport, make = _APIS.get(type(api), (None, None))
    if make is None or type(api.transport) is not transport:
        return api
    attributes = vars(api)
    if not _READS.keys().isdisjoint(attributes):
        return api
    # Kept on the API object itself: the two live and die together, with the client they refer to.
    lazy = attributes.get(_LAZY_API)
    return attributes.setdefault(_LAZY_API, make(api)) if lazy is None else lazy


def _copied(api: Any, **changed: Any) -> Any:
    # Not by the constructor, which logs that a client was created: that of the application was.
    kind: Any = type(api)
    made = kind.__new__(kind)
    vars(made).update(vars(api), **changed)
    return made


def _made(api: Any) -> Any:
    stock = api.transport
    transport = LazyFirestoreGrpcTransport(host=stock.host, channel=stock.grpc_channel)
    transport._credentials = stock._credentials
    return _copied(api, _transport=transport)


def _made_async(api: Any) -> Any:
    transport: Any = LazyFirestoreGrpcAsyncIOTransport.__new__(LazyFirestoreGrpcAsyncIOTransport)
    # Not by the constructor, which would add the client's interceptor to the channel once more.
    vars(transport).update(vars(api.transport), _stubs={})
    transport._prep_wrapped_messages(DEFAULT_CLIENT_INFO)
    return _copied(api, _client=_copied(api._client, _transport=transport))


_APIS: dict[Any, tuple[Any, Callable[[Any], Any]]] = {
    FirestoreClient: (FirestoreGrpcTransport, _made),
    FirestoreAsyncClient: (FirestoreGrpcAsyncIOTransport, _made_async),
}
"""By the class of an API object: that of its transport, and what makes its lazy counterpart."""


def is_lazy_api(api: Any) -> bool:
    """Whether an API object is a lazy one, of :func:`lazy_api`."""
    lazy = LazyFirestoreGrpcTransport, LazyFirestoreGrpcAsyncIOTransport
    return isinstance(getattr(api, "transport", None), lazy)


_DESERIALIZER, _SERIALIZER = "_response_deserializer", "_request_serializer"
_READS_OF = "_lazyentity_reads"


def read_lazily(api: Any, is_lazy: bool, is_active: Callable[[], bool]) -> None:
    """Make the responses to the reads of an asyncio client lazy, or real.

    A second transport on the same channel would log each RPC twice: every asyncio transport adds
    its interceptor to the channel. Somebody's own transport, stub or deserialiser is left alone.

    Args:
        api: the API object of an ``AsyncClient``.
        is_lazy: whether responses are lazy from now on.
        is_active: whether the client is patched; called when a response has arrived.
    """
    transport = getattr(api, "transport", None)
    if type(transport) is not FirestoreGrpcAsyncIOTransport:
        return
    reads = vars(transport).get(_READS_OF)
    if reads is not None:
        reads.are_lazy = is_lazy
    elif is_lazy:
        reads = vars(transport).setdefault(_READS_OF, _Reads())
        for method, (_, _, real, lazy) in _READS.items():
            stub = getattr(transport, method)
            # Another version of grpc may keep the deserialiser elsewhere; responses are real then.
            if getattr(stub, _DESERIALIZER, None) == real.deserialize:
                made = _deserializer(real.deserialize, lazy.deserialize, reads, is_active)
                setattr(stub, _DESERIALIZER, made)
        for method, request in REQUESTS.items():
            stub = getattr(transport, method)
            # It serialises a request of somebody else as before, and stays.
            if getattr(stub, _SERIALIZER, None) == request.serialize:
                setattr(stub, _SERIALIZER, functools.partial(serialised, request))


class _Reads:
    """The reads of a transport."""

    are_lazy = True


def _deserializer(
    real: Callable[[bytes], Any],
    lazy: Callable[[bytes], Any],
    reads: _Reads,
    is_active: Callable[[], bool],
) -> Callable[[bytes], Any]:
    def deserialize(raw: bytes) -> Any:
        return lazy(raw) if reads.are_lazy and is_active() else real(raw)

    return deserialize
