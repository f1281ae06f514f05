"""A client whose transport sends nothing: it keeps the request, and has the response ready."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from types import SimpleNamespace
from typing import Any

import grpc
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport

from tests.patches.ndb.clients import make_client

PROJECT = "p"


class Wire:
    """The bytes that go over the wire.

    Attributes:
        requests: the serialised requests, the last one last.
        respond: takes a serialised request and gives the serialised response.
    """

    def __init__(self, respond: Callable[[bytes], bytes] = lambda request: b"") -> None:
        self.requests: list[bytes] = []
        self.respond = respond

    def send(self, request: bytes) -> bytes:
        """Keep a request, and answer it."""
        self.requests.append(request)
        return self.respond(request)

    def client(self, transport: str) -> datastore.Client:
        """Return a client with the stock API object of ``transport``: grpc or http."""
        client = datastore.Client(
            project=PROJECT,
            credentials=AnonymousCredentials(),
            _use_grpc=transport == "grpc",
            _http=_Session(self),
        )
        if transport == "grpc":
            client._datastore_api_internal = DatastoreClient(
                transport=DatastoreGrpcTransport(channel=_Channel(self))
            )
        return client

    def ndb_client(self) -> Any:
        """Return a client of ndb."""
        # The client connects at the first use.
        client = make_client("127.0.0.1:1", project=PROJECT)
        client.stub = DatastoreGrpcTransport(channel=_Channel(self))
        return client


class _Session:
    """Replaces a session of requests."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def request(self, *, data: bytes, **_: Any) -> Any:
        return SimpleNamespace(status_code=200, content=self._wire.send(data))


class _Call:
    """Replaces one RPC of gRPC, with its serialiser and deserialiser."""

    def __init__(self, wire: Wire, serialise: Any, deserialise: Any) -> None:
        self._wire = wire
        self._serialise = serialise
        self._deserialise = deserialise

    def future(self, request: Any, **_: Any) -> Any:
        done: futures.Future[Any] = futures.Future()
        done.set_result(self(request))
        return done

    def with_call(self, request: Any, **_: Any) -> tuple[Any, Any]:
        return self(request), SimpleNamespace(trailing_metadata=lambda: ())

    def __call__(self, request: Any, **_: Any) -> Any:
        return self._deserialise(self._wire.send(self._serialise(request)))


class _Channel(grpc.Channel):
    """Replaces a connection of gRPC."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def unary_unary(  # type: ignore[override]  # of the types of the stubs
        self,
        _method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        *_: Any,
        **__: Any,
    ) -> Any:
        return _Call(self._wire, request_serializer, response_deserializer)

    def _unused(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    unary_stream = stream_unary = stream_stream = subscribe = unsubscribe = close = _unused
