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

from lazyentity.patches.firestore.messages import serialised
from lazyentity.patches.firestore.responses import LookupResponse, QueryResponse
from lazyentity.patches.firestore.streams import logged_channel, read_by_caller


class LazyFirestoreGrpcTransport(FirestoreGrpcTransport):
    """The client's gRPC transport, with lazy responses."""

    _read_lookup: Callable[[bytes], Any] = staticmethod(LookupResponse.deserialize)
    _read_query: Callable[[bytes], Any] = staticmethod(QueryResponse.deserialize)

    def _read_stub(
        self, name: str, method: str, request_type: Any, deserialize: Callable[[bytes], Any]
    ) -> Callable[[Any], Any]:
        # _stubs is upstream's cache; its wrapped methods are keyed by the very stub.
        if name not in self._stubs:
            self._stubs[name] = read_by_caller(
                self,
                f"/google.firestore.v1.Firestore/{method}",
                request_type.serialize,
                deserialize,
            )
        stub: Callable[[Any], Any] = self._stubs[name]
        return stub

    def _write_stub(
        self, name: str, method: str, deserialize: Callable[[bytes], Any]
    ) -> Callable[[Any], Any]:
        if name not in self._stubs:
            self._stubs[name] = logged_channel(self).unary_unary(
                f"/google.firestore.v1.Firestore/{method}",
                request_serializer=functools.partial(serialised, _WRITES[name]),
                response_deserializer=deserialize,
            )
        stub: Callable[[Any], Any] = self._stubs[name]
        return stub

    @property
    def commit(self) -> Callable[[Any], Any]:
        return self._write_stub("commit", "Commit", firestore_pb2.CommitResponse.deserialize)

    @property
    def batch_write(self) -> Callable[[Any], Any]:
        return self._write_stub(
            "batch_write", "BatchWrite", firestore_pb2.BatchWriteResponse.deserialize
        )

    @property
    def batch_get_documents(self) -> Callable[[Any], Any]:
        return self._read_stub(
            "batch_get_documents",
            "BatchGetDocuments",
            firestore_pb2.BatchGetDocumentsRequest,
            self._read_lookup,
        )

    @property
    def run_query(self) -> Callable[[Any], Any]:
        return self._read_stub(
            "run_query", "RunQuery", firestore_pb2.RunQueryRequest, self._read_query
        )


_LAZY_API = "_lazyentity_api"
_READS = frozenset(("batch_get_documents", "run_query"))
_WRITES: dict[str, Any] = {
    "commit": firestore_pb2.CommitRequest,
    "batch_write": firestore_pb2.BatchWriteRequest,
}
_SERIALIZER = "_request_serializer"


def lazy_api(api: Any) -> Any:
    """Return the lazy counterpart of a client's API object; the same one each time.

    Only the API objects that a client makes for itself have one. Anything else (a mock, a subclass,
    an object with somebody's own method or transport) is returned as it is.
    """
    if type(api) is not FirestoreClient or type(api.transport) is not FirestoreGrpcTransport:
        return api
    attributes = vars(api)
    if not _READS.isdisjoint(attributes):
        return api
    # Kept on the API object itself: the two live and die together, with the client they refer to.
    lazy = attributes.get(_LAZY_API)
    return attributes.setdefault(_LAZY_API, _made(api)) if lazy is None else lazy


def _made(api: Any) -> Any:
    stock = api.transport
    transport = LazyFirestoreGrpcTransport(host=stock.host, channel=stock.grpc_channel)
    transport._credentials = stock._credentials
    # Not by the constructor, which logs that a client was created: that of the application was.
    lazy = FirestoreClient.__new__(FirestoreClient)
    vars(lazy).update(vars(api), _transport=transport)
    return lazy


class LazyFirestoreGrpcAsyncIOTransport(FirestoreGrpcAsyncIOTransport):
    """The asyncio transport of a wrapped client; one that exists is copied into it."""

    def _read_stub(self, name: str) -> Any:
        if name not in self._stubs:
            request_type, method, _, lazy = _ASYNC_READS[name]
            self._stubs[name] = logged_channel(self).unary_stream(
                f"/google.firestore.v1.Firestore/{method}",
                request_serializer=request_type.serialize,
                response_deserializer=lazy.deserialize,
            )
        return self._stubs[name]

    @property
    def batch_get_documents(self) -> Any:
        return self._read_stub("batch_get_documents")

    @property
    def run_query(self) -> Any:
        return self._read_stub("run_query")


def lazy_async_api(api: Any) -> Any:
    """As :func:`lazy_api`, for the API object of an ``AsyncClient``."""
    if type(api) is not FirestoreAsyncClient or not _READS.isdisjoint(vars(api)):
        return api
    stock = api.transport
    if type(stock) is not FirestoreGrpcAsyncIOTransport:
        return api
    attributes = vars(api)
    lazy = attributes.get(_LAZY_API)
    return attributes.setdefault(_LAZY_API, _made_async(api, stock)) if lazy is None else lazy


def _made_async(api: Any, stock: Any) -> Any:
    transport: Any = LazyFirestoreGrpcAsyncIOTransport.__new__(LazyFirestoreGrpcAsyncIOTransport)
    # Not by the constructor, which would add the client's interceptor to the channel once more.
    vars(transport).update(vars(stock), _stubs={})
    transport._prep_wrapped_messages(DEFAULT_CLIENT_INFO)
    inner, lazy = FirestoreClient.__new__(FirestoreClient), FirestoreAsyncClient.__new__(type(api))
    vars(inner).update(vars(api._client), _transport=transport)
    vars(lazy).update(vars(api), _client=inner)
    return lazy


def is_lazy_api(api: Any) -> bool:
    """Whether an API object is a lazy one, of :func:`lazy_api` or :func:`lazy_async_api`."""
    lazy = LazyFirestoreGrpcTransport, LazyFirestoreGrpcAsyncIOTransport
    return isinstance(getattr(api, "transport", None), lazy)


_ASYNC_READS: dict[str, tuple[Any, str, Any, Any]] = {
    "batch_get_documents": (
        firestore_pb2.BatchGetDocumentsRequest,
        "BatchGetDocuments",
        firestore_pb2.BatchGetDocumentsResponse,
        LookupResponse,
    ),
    "run_query": (
        firestore_pb2.RunQueryRequest,
        "RunQuery",
        firestore_pb2.RunQueryResponse,
        QueryResponse,
    ),
}
"""By the name of a method: the class of its request, its name in the API, both of its response."""

_DESERIALIZER = "_response_deserializer"
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
        for method, (_, _, real, lazy) in _ASYNC_READS.items():
            stub = getattr(transport, method)
            # Another version of grpc may keep the deserialiser elsewhere; responses are real then.
            if getattr(stub, _DESERIALIZER, None) == real.deserialize:
                made = _deserializer(real.deserialize, lazy.deserialize, reads, is_active)
                setattr(stub, _DESERIALIZER, made)
        for method, request in _WRITES.items():
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
