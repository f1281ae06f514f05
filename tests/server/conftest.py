"""Loopback servers in separate processes, and stock clients of them over both transports."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bench.server.process import LoopbackServer
from tests.support import clients
from tests.support.servers import in_small_batches

MakeClient = Callable[..., datastore.Client]


@pytest.fixture(scope="session")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture(scope="session")
def small_server() -> Iterator[LoopbackServer]:
    with in_small_batches() as running:
        yield running


@pytest.fixture
def make_client(transport: str) -> Iterator[MakeClient]:
    """Makes stock clients; without a named project, each has separate entities."""
    with ExitStack() as made:

        def make(server: LoopbackServer, project: str = "", **options: Any) -> datastore.Client:
            port = server.grpc_port if transport == "grpc" else server.http_port
            project = project or f"p-{uuid.uuid4().hex}"
            client = clients.make_client(port, transport, project=project, **options)
            made.callback(clients.close, client)
            return client

        yield make


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
