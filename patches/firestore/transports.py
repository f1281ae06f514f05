"""The generated gRPC clients and their transports, with documents left undecoded.

A transport here differs from the generated one in the responses to the two methods that stream
documents, and in the serialiser of requests with writes.
"""

from __future__ import annotations

import functools
from typing import Any

from google.cloud.firestore_v1.services.firestore.async_client import FirestoreAsyncClient
from google.cloud.firestore_v1.services.firestore.client import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.base import DEFAULT_CLIENT_INFO
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport
from google.cloud.firestore_v1.services.firestore.transports.grpc_asyncio import (
    FirestoreGrpcAsyncIOTransport,
)
from google.cloud.firestore_v1.types import firestore as firestore_pb2

from lazyentity._backend import EntityReader
from lazyentity.patches.firestore.messages import serialised
from lazyentity.patches.firestore.responses import LookupResponse, QueryResponse
from lazyentity.patches.firestore.streams import logged_channel, read_by_caller
from lazyentity.readers import reader_of_rpc

_SERVICE = "/google.firestore.v1.Firestore/"
_READS: dict[str, tuple[str, Any, Any]] = {
    "batch_get_documents": (
        "BatchGetDocuments",
        firestore_pb2.BatchGetDocumentsRequest,
        LookupResponse,
    ),
    "run_query": ("RunQuery", firestore_pb2.RunQueryRequest, QueryResponse),
}
"""By the name of a method: its name in the API, the classes of its request and of its response."""
_WRITES: dict[str, tuple[str, Any, Any]] = {
    "commit": ("Commit", firestore_pb2.CommitRequest, firestore_pb2.CommitResponse),
    "batch_write": (
        "BatchWrite",
        firestore_pb2.BatchWriteRequest,
        firestore_pb2.BatchWriteResponse,
    ),
}


class _LazyStubs:
    """The stubs that a lazy transport has in place of the client's.

    Attributes:
        _reader: makes the snapshots of the documents that arrive; None for the mode of the patch.
        _stubs: upstream's cache; its wrapped methods are keyed by the very stub.
    """

    _reader: EntityReader | None
    _stubs: dict[str, Any]

    def _read_stub(self, name: str) -> Any:
        if name not in self._stubs:
            method, request, response = _READS[name]
            self._stubs[name] = read_by_caller(
                self,
                _SERVICE + method,
                request.serialize,
                response.deserializer(self._reader),
            )
        return self._stubs[name]

    def _write_stub(self, name: str) -> Any:
        if name not in self._stubs:
            method, request, response = _WRITES[name]
            self._stubs[name] = logged_channel(self).unary_unary(
                _SERVICE + method,
                request_serializer=functools.partial(serialised, request),
                response_deserializer=response.deserialize,
            )
        return self._stubs[name]

    @property
    def batch_get_documents(self) -> Any:
        return self._read_stub("batch_get_documents")

    @property
    def run_query(self) -> Any:
        return self._read_stub("run_query")

    @property
    def commit(self) -> Any:
        return self._write_stub("commit")

    @property
    def batch_write(self) -> Any:
        return self._write_stub("batch_write")


class LazyFirestoreGrpcTransport(_LazyStubs, FirestoreGrpcTransport):
    """The transport of a blocking client, with lazy responses."""


class LazyFirestoreGrpcAsyncIOTransport(_LazyStubs, FirestoreGrpcAsyncIOTransport):
    """The transport of an asyncio client, with lazy responses."""


_LAZY_TYPES: dict[type, Any] = {
    FirestoreGrpcTransport: LazyFirestoreGrpcTransport,
    FirestoreGrpcAsyncIOTransport: LazyFirestoreGrpcAsyncIOTransport,
}
_LAZY_APIS = "_lazyentity_apis"


def lazy_api(api: Any, reader: EntityReader | None) -> Any:
    """Return the lazy counterpart of a client's API object, for an RPC that is sent now.

    Only the API objects that a client makes for itself have one, the same one each time for a
    reader. Anything else (a mock, a subclass, an object with somebody's own method or transport, or
    an asyncio stub with somebody's own deserialiser) is returned as it is.

    Args:
        api: of a blocking or an asyncio client; stock, or a lazy one.
        reader: makes the snapshots, unless the RPC is sent inside ``eager()``; None for the mode
            that the patch has when a snapshot is made.
    """
    if type(api) not in (FirestoreClient, FirestoreAsyncClient):
        return api
    attributes, transport = vars(api), api.transport
    kind = type(transport)
    lazy_type = kind if issubclass(kind, _LazyStubs) else _LAZY_TYPES.get(kind)
    if lazy_type is None or not _READS.keys().isdisjoint(attributes):
        return api
    if kind is FirestoreGrpcAsyncIOTransport and not _reads_as_known(transport):
        return api
    reader = reader_of_rpc() or reader
    if lazy_type is kind and transport._reader is reader:
        return api
    # Kept on the API object itself: they live and die together, with the client they refer to.
    lazy_apis = attributes.setdefault(_LAZY_APIS, {})
    lazy = lazy_apis.get(reader)
    return lazy_apis.setdefault(reader, _made(api, lazy_type, reader)) if lazy is None else lazy


def _reads_as_known(transport: Any) -> bool:
    """Whether the stubs of an asyncio transport have the client's deserialisers."""
    return all(
        getattr(getattr(transport, name), "_response_deserializer", None)
        == response._real.deserialize
        for name, (_, _, response) in _READS.items()
    )


def _made(api: Any, lazy_type: Any, reader: EntityReader | None) -> Any:
    transport = lazy_type.__new__(lazy_type)
    # Not by the constructor: that of asyncio would add the client's interceptor to the channel
    # once more.
    vars(transport).update(vars(api.transport), _stubs={}, _reader=reader)
    transport._prep_wrapped_messages(DEFAULT_CLIENT_INFO)
    if type(api) is FirestoreAsyncClient:
        return _copy(api, _client=_copy(api._client, _transport=transport))
    return _copy(api, _transport=transport)


def _copy(api: Any, **changed: Any) -> Any:
    # Not by the constructor, which logs that a client was created: that of the application was.
    copied = object.__new__(type(api))
    vars(copied).update(vars(api), **changed)
    vars(copied).pop(_LAZY_APIS, None)
    return copied
