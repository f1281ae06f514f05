"""Servers, clients and lazy reads, each in all their kinds."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from google.cloud import datastore

from lazyentity.bench.server.process import LoopbackServer
from tests.integration.endpoints import Endpoint, environment_endpoint, wipe
from tests.integration.sides import Sides
from tests.support.clients import TRANSPORTS, close
from tests.support.emulator import running_emulator
from tests.support.servers import in_small_batches

Client = datastore.Client
MakeClient = Callable[..., Client]


@contextmanager
def _loopback() -> Iterator[Endpoint]:
    with LoopbackServer() as server:
        yield Endpoint("loopback", {"grpc": server.grpc_port, "http": server.http_port})


@contextmanager
def _loopback_in_small_batches() -> Iterator[Endpoint]:
    with in_small_batches() as server:
        ports = {"grpc": server.grpc_port, "http": server.http_port}
        yield Endpoint("loopback in small batches", ports)


@contextmanager
def _emulator() -> Iterator[Endpoint]:
    with running_emulator() as port:
        yield Endpoint("emulator", dict.fromkeys(TRANSPORTS, port))


@contextmanager
def _environment() -> Iterator[Endpoint]:
    endpoint = environment_endpoint()
    assert endpoint is not None, "DATASTORE_EMULATOR_HOST went away while the tests were running"
    yield endpoint


SERVERS = [
    pytest.param(_loopback, id="loopback"),
    pytest.param(_loopback_in_small_batches, id="small-batches"),
    # Fails, not skips, if it is requested and missing.
    pytest.param(_emulator, id="emulator", marks=pytest.mark.emulator),
]
if environment_endpoint() is not None:
    SERVERS.append(pytest.param(_environment, id="environment"))


@pytest.fixture(scope="session", params=SERVERS)
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    with request.param() as running:
        yield running


@pytest.fixture
def make_client(endpoint: Endpoint, transport: str) -> Iterator[MakeClient]:
    """Makes stock clients; their entities are deleted in the end."""
    with ExitStack() as made:

        def make(**options: str) -> Client:
            client = endpoint.client(transport, **options)
            made.callback(close, client)
            if not endpoint.is_ours:
                made.callback(wipe, client)
            return client

        yield make


@pytest.fixture
def client(make_client: MakeClient) -> Client:
    """A stock client of a namespace that is this test's own."""
    return make_client(namespace=f"test-{uuid.uuid4().hex}")


@pytest.fixture(params=["patch", "wrap"])
def activation(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def sides(client: Client, endpoint: Endpoint, activation: str) -> Sides:
    """The stock client and lazy reads, in a namespace that is this test's own."""
    return Sides(client, activation, complete=endpoint.is_ours)
