"""Loopback servers in processes of their own, and stock clients of them over both transports."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

from lazyentity.bench.server.process import LoopbackServer

SMALL_BATCH = 3
SMALL_LOOKUP = 2

MakeClient = Callable[..., datastore.Client]


@pytest.fixture(scope="session")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture(scope="session")
def small_server() -> Iterator[LoopbackServer]:
    with LoopbackServer(batch_size=SMALL_BATCH, lookup_limit=SMALL_LOOKUP) as running:
        yield running


@pytest.fixture(params=["grpc", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def make_client(transport: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeClient]:
    """Makes stock clients; without a project named, each sees entities that nobody else sees."""
    monkeypatch.delenv(GCD_HOST, raising=False)
    made: list[datastore.Client] = []

    def make(server: LoopbackServer, project: str = "", **options: str) -> datastore.Client:
        port = server.grpc_port if transport == "grpc" else server.http_port
        client = datastore.Client(
            project=project or f"p-{uuid.uuid4().hex}",
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": f"http://127.0.0.1:{port}"},
            _use_grpc=transport == "grpc",
            **options,
        )
        made.append(client)
        return client

    yield make
    for client in made:
        if transport == "grpc":
            client._datastore_api.transport.close()
        else:
            client._http.close()


@pytest.fixture
def client(make_client: MakeClient, server: LoopbackServer) -> datastore.Client:
    return make_client(server)


@pytest.fixture
def small_client(make_client: MakeClient, small_server: LoopbackServer) -> datastore.Client:
    """A client of a server that answers little at a time."""
    return make_client(small_server)


Put = Callable[..., datastore.Entity]


@pytest.fixture
def put(client: datastore.Client) -> Put:
    """Stores an entity: ``put(*path, exclude=(names), **properties)``."""

    def store(
        *path: str | int, exclude: tuple[str, ...] = (), **properties: object
    ) -> datastore.Entity:
        entity = datastore.Entity(client.key(*path), exclude_from_indexes=exclude)
        entity.update(properties)
        client.put(entity)
        return entity

    return store
