"""Interceptors of an application's channel that answer themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from tests.bulk.services import Served, connected, served, stored
from tests.support.snapshots import snapshot

Client = datastore.Client
Read = Callable[[Client], Any]

pytestmark = pytest.mark.any_backend

# The client announces types, but annotates no constructors.
_make_transport: Any = DatastoreGrpcTransport


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    """A server."""
    with served() as made:
        yield made


class _Answered:
    """The call of an RPC that an interceptor answered."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def result(self) -> Any:
        """Return the response."""
        return self._response


class _Answering(grpc.UnaryUnaryClientInterceptor):
    """Answers with responses of the client's own class, as one that caches or records may do."""

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Answer a call."""
        kind = getattr(datastore_pb2, details.method.rpartition("/")[2] + "Response")
        return _Answered(kind.deserialize(kind.serialize(continuation(details, request).result())))


def _in_patch(client: Client, read: Read, *, eager: bool = False) -> Any:
    lazyentity.patch("datastore", strict=True, eager=eager)
    try:
        return read(client)
    finally:
        lazyentity.unpatch()


def _inside_eager(client: Client, read: Read) -> Any:
    with lazyentity.eager():
        return _in_patch(client, read)


WAYS: dict[str, Callable[[Client, Read], Any]] = {
    "patched": _in_patch,
    "patched, eager": lambda client, read: _in_patch(client, read, eager=True),
    "inside eager()": _inside_eager,
    "wrapped": lambda client, read: read(lazyentity.wrap(client)),
    "wrapped, prefetch": lambda client, read: read(lazyentity.wrap(client, prefetch=["number"])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["get", "get_multi", "a query"])
def test_an_interceptor_that_answers(running: Served, name: str, way: str) -> None:
    """Its response is not lazy."""
    with connected(running) as client:
        keys = stored(client, "Answered", 3)
        reads: dict[str, Read] = {
            "get": lambda client: [client.get(keys[0])],
            "get_multi": lambda client: client.get_multi(keys),
            "a query": lambda client: list(client.query(kind="Answered").fetch()),
        }

        def answered() -> Client:
            channel = grpc.insecure_channel(f"127.0.0.1:{running.ports['grpc']}")
            transport = _make_transport(channel=grpc.intercept_channel(channel, _Answering()))
            client._datastore_api_internal = DatastoreClient(transport=transport)
            return client

        stock = list(map(snapshot, reads[name](answered())))
        assert list(map(snapshot, WAYS[way](answered(), reads[name]))) == stock
