"""The generated gRPC client and its transport, with responses left undecoded.

The subclasses here differ from the generated classes in two things: the class that ``lookup`` and
``run_query`` deserialise their responses with, and the way from the arguments of ``commit`` to a
message. Retry, timeout, routing headers, authentication, logging and the connection come from the
generated classes.

The stubs of the asyncio transport get a deserialiser that can be lazy. A second transport on the
same channel would have two faults:

- it would log each RPC twice: every asyncio transport adds its interceptor to the channel;
- it would not know the user agent of the client.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any

from google.api_core.gapic_v1.method import _GapicCallable
from google.api_core.grpc_helpers import wrap_errors
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)
from google.cloud.datastore_v1.types import datastore as datastore_pb2

from lazyentity._backend import EntityReader
from lazyentity.patches.api.requests import commit_request, serialiser
from lazyentity.patches.api.responses import LookupResponse, RunQueryResponse, read_by
from lazyentity.readers import reader_of_rpc

_serialise_lookup = serialiser(datastore_pb2.LookupRequest.serialize)
_serialise_query = serialiser(datastore_pb2.RunQueryRequest.serialize)
_serialise_commit = serialiser(datastore_pb2.CommitRequest.serialize)


class LazyDatastoreGrpcTransport(DatastoreGrpcTransport):
    """The client's gRPC transport, with lazy responses to ``lookup`` and ``run_query``.

    Args:
        reader: as of :class:`~lazyentity._backend.protocols.ReadRpc`, for all responses.
        options: of the generated class.
    """

    _read_lookup: Callable[..., Any] = staticmethod(LookupResponse.deserialize)
    _read_query: Callable[..., Any] = staticmethod(RunQueryResponse.deserialize)
    _reader: EntityReader | None = None

    def __init__(self, *, reader: EntityReader | None = None, **options: Any) -> None:
        # First: the constructor of the generated class asks for the methods.
        self._reader = reader
        super().__init__(**options)

    def _stub(
        self, method: str, serialize: Callable[[Any], bytes], deserialize: Callable[[bytes], Any]
    ) -> Callable[[Any], Any]:
        # _stubs is upstream's cache; its wrapped methods are keyed by the very stub, and so another
        # thread's stub is not replaced.
        if method not in self._stubs:
            # The channel with the logging interceptor came with google-cloud-datastore 2.21.
            channel = getattr(self, "_logged_channel", self.grpc_channel)
            made = channel.unary_unary(
                f"/google.datastore.v1.Datastore/{method}",
                request_serializer=serialize,
                response_deserializer=deserialize,
            )
            self._stubs.setdefault(method, made)
        stub: Callable[[Any], Any] = self._stubs[method]
        return stub

    @property
    def lookup(self) -> Callable[[Any], Any]:
        read = functools.partial(self._read_lookup, reader=self._reader)
        return self._stub("Lookup", _serialise_lookup, read)

    @property
    def run_query(self) -> Callable[[Any], Any]:
        read = functools.partial(self._read_query, reader=self._reader)
        return self._stub("RunQuery", _serialise_query, read)

    @property
    def commit(self) -> Callable[[Any], Any]:
        return self._stub("Commit", _serialise_commit, datastore_pb2.CommitResponse.deserialize)


def lazy_transport(transport: Any) -> LazyDatastoreGrpcTransport | None:
    """Return the lazy counterpart of a transport, which shares its state: channel, retry, headers.

    Args:
        transport: a ``DatastoreGrpcTransport``. It has none if somebody else's function sends one
            of its RPCs.
    """
    lazy = LazyDatastoreGrpcTransport.__new__(LazyDatastoreGrpcTransport)
    lazy.__dict__ = transport.__dict__
    return lazy if send_as(transport, lazy, ("lookup", "run_query", "commit")) else None


def send_as(given: Any, transport: Any, names: Iterable[str]) -> bool:
    """Let a transport send some RPCs with the retries, the timeouts and the headers of another.

    Args:
        given: the other.
        transport: makes other stubs than the other one.
        names: of the methods.

    Returns:
        Whether it can; not if somebody else's function sends one of the RPCs.
    """
    for name in names:
        method = given._wrapped_methods.get(getattr(given, name))
        # A wrapper of it may have all of its attributes.
        if type(method) is not _GapicCallable:
            return False
        method = copy.copy(method)
        stub = getattr(transport, name)
        method._target = wrap_errors(stub)
        transport._wrapped_methods[stub] = method
    return True


class LazyDatastoreClient(DatastoreClient):
    """The client's gRPC API object over a :class:`LazyDatastoreGrpcTransport`."""

    def lookup(self, *args: Any, **kwargs: Any) -> Any:
        return sent(super().lookup, *args, **kwargs)

    def run_query(self, *args: Any, **kwargs: Any) -> Any:
        return sent(super().run_query, *args, **kwargs)

    def commit(self, request: Any = None, **kwargs: Any) -> Any:
        return super().commit(request=commit_request(request), **kwargs)


def sent(rpc: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Send a read; a lazy response carries the reader that is chosen now."""
    reader = reader_of_rpc()
    return read_by(rpc(*args, **kwargs), reader)


_RESPONSES: dict[str, tuple[Any, Any]] = {
    "lookup": (datastore_pb2.LookupResponse, LookupResponse),
    "run_query": (datastore_pb2.RunQueryResponse, RunQueryResponse),
}

_DESERIALIZER = "_response_deserializer"


def read_lazily(transport: Any, method: str, is_lazy: Callable[[], bool]) -> None:
    """Make the responses to a method of an asyncio transport lazy, where ``is_lazy`` says so.

    Somebody's own transport, stub or deserialiser is left alone.

    Args:
        transport: the transport of a ``DatastoreAsyncClient``.
        method: ``"lookup"`` or ``"run_query"``.
        is_lazy: called when a response has arrived.
    """
    if type(transport) is not DatastoreGrpcAsyncIOTransport:
        return
    stub = getattr(transport, method)
    real, lazy = _RESPONSES[method]
    # Another version of grpc may keep the deserialiser elsewhere; responses are real then.
    if getattr(stub, _DESERIALIZER, None) == real.deserialize:
        setattr(stub, _DESERIALIZER, lambda raw: (lazy if is_lazy() else real).deserialize(raw))


async def awaited(rpc: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """As :func:`sent`, of a coroutine function."""
    reader = reader_of_rpc()
    return read_by(await rpc(*args, **kwargs), reader)
