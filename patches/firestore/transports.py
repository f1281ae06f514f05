"""The methods of a client's API that read and write documents, over its own transport.

A transport wraps each stub: with retries, the client's errors and its user agent. Here the stub
underneath is exchanged, once for each transport. Nothing else of the transport changes, and nothing
of the API object: it stays, with all that an application has set on it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import grpc
from google.api_core import grpc_helpers, grpc_helpers_async
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.cloud.firestore_v1.services.firestore.async_client import FirestoreAsyncClient
from google.cloud.firestore_v1.services.firestore.client import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport
from google.cloud.firestore_v1.services.firestore.transports.grpc_asyncio import (
    FirestoreGrpcAsyncIOTransport,
)
from google.cloud.firestore_v1.types import firestore as firestore_pb2
from grpc import aio

from lazyentity._dispatch import register
from lazyentity._mode import is_eager
from lazyentity.patches.firestore import operations
from lazyentity.patches.firestore.messages import REQUESTS, serialised
from lazyentity.patches.firestore.responses import BatchGetResponse, QueryResponse
from lazyentity.patches.firestore.seams import CLIENT, GUARD

# Where there are lazy snapshots, the functions of lazyentity take them.
register(DocumentSnapshot, operations)

_READS: dict[str, tuple[str, Any, Any]] = {
    "batch_get_documents": (
        "BatchGetDocuments",
        firestore_pb2.BatchGetDocumentsRequest,
        BatchGetResponse,
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

_IS_EXCHANGED, _IS_EAGER = "_lazyentity_is_exchanged", "_lazyentity_is_eager"

# Types of gRPC come from elsewhere, and differ.
_UnaryStream: Any = grpc.UnaryStreamMultiCallable
_AioUnaryStream: Any = aio.UnaryStreamMultiCallable


class _ReadingStub(_UnaryStream, _AioUnaryStream):  # type: ignore[misc]  # of Any
    """A stub of a method that streams documents; each RPC chooses its responses when it is sent.

    Args:
        stub: the client's own.
        lazily: the stubs of lazy responses, by whether stock snapshots are made of them.
    """

    def __init__(self, stub: Any, lazily: dict[bool, Any]) -> None:
        self._stub, self._lazily = stub, lazily

    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        mode = vars(request).get(_IS_EAGER)
        if mode is None and CLIENT.patch.active:
            mode = is_eager() or CLIENT.patch.eager
        stub = self._stub if mode is None or not GUARD.is_intact() else self._lazily[bool(mode)]
        return stub(request, *args, **kwargs)


def read_lazily(api: Any) -> bool:
    """Have an API object's reads choose their responses whenever an RPC is sent.

    Only the API objects that clients of either kind make for themselves can do that. Anything else
    (a mock, a subclass, an object with somebody's own transport) is left alone.

    Returns:
        Whether it can.
    """
    transport: Any = getattr(api, "transport", None)
    kind, wrap_errors = _APIS.get(type(api), (None, None))
    if wrap_errors is None or type(transport) is not kind:
        return False
    # Of two threads one exchanges the stubs.
    mark = object()
    if vars(transport).setdefault(_IS_EXCHANGED, mark) is mark:
        for name in (*_READS, *_WRITES):
            stub = getattr(transport, name)
            wrapped = transport._wrapped_methods.get(stub)
            # Somebody's own method stays in charge.
            if getattr(getattr(wrapped, "_target", None), "__wrapped__", None) is stub:
                make = _reading_stub if name in _READS else _writing_stub
                wrapped._target = wrap_errors(make(transport, name, stub))
    return True


def _path(method: str) -> str:
    return f"/google.firestore.v1.Firestore/{method}"


def _logged_channel(transport: Any) -> Any:
    """Return the channel of a transport on which RPCs are logged, where the client logs them."""
    # Before 2.20.1 it does not.
    return getattr(transport, "_logged_channel", transport.grpc_channel)


def _reading_stub(transport: Any, name: str, stub: Any) -> Any:
    method, request, lazy = _READS[name]
    make = functools.partial(
        _logged_channel(transport).unary_stream, _path(method), request_serializer=request.serialize
    )
    modes = {False: lazy.deserialize, True: lazy.deserialize_for_eager}
    return _ReadingStub(
        stub, {mode: make(response_deserializer=read) for mode, read in modes.items()}
    )


def _writing_stub(transport: Any, name: str, stub: Any) -> Any:
    method, response = _WRITES[name]
    return _logged_channel(transport).unary_unary(
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


def replace_api(original: property, is_active: Callable[[], bool]) -> property:
    """Replace the property of a client that gives its API object."""

    @functools.wraps(original.fget)  # type: ignore[arg-type]  # a getter it has
    def _firestore_api(client: Any) -> Any:
        api = original.__get__(client)
        if is_active():
            read_lazily(api)
        return api

    return property(_firestore_api)
