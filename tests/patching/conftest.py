"""One loopback server with a few stored entities, and the guard that every test leaves no patch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from tests.clients import TRANSPORTS, close, make_client
from tests.entities import fill
from tests.patching.order_program import COUNT, KIND, read
from tests.patching.seams import ORIGINALS, standing

Ports = dict[str, int]
Make = Callable[..., datastore.Client]


@pytest.fixture(scope="session")
def ports() -> Iterator[Ports]:
    """Ports of a loopback server by transport, with ``COUNT`` entities of kind ``KIND`` stored."""
    with LoopbackServer() as server:
        by_transport = {"grpc": server.grpc_port, "http": server.http_port}
        client = make_client(server.grpc_port, "grpc")
        keys = [client.key(KIND, number + 1) for number in range(COUNT)]
        client.put_multi([fill(datastore.Entity(key), key.id) for key in keys])
        close(client)
        yield by_transport


@pytest.fixture(scope="session")
def stock_contents(ports: Ports) -> Any:
    """What the stored entities hold, read with the stock client by :func:`order_program.read`."""
    assert standing() == ORIGINALS
    client = make_client(ports["grpc"], "grpc")
    reads = read(client)
    close(client)
    assert reads["classes"] == ["Entity"]
    return reads["contents"]


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def make(ports: Ports, transport: str) -> Iterator[Make]:
    """Makes clients of the server, over the transport of the test."""
    with ExitStack() as made:

        def make_one(**options: Any) -> datastore.Client:
            client = make_client(ports[transport], transport, **options)
            made.callback(close, client)
            return client

        yield make_one


@pytest.fixture
def client(make: Make) -> datastore.Client:
    return make()


@pytest.fixture(autouse=True)
def _stock_before_and_after() -> Iterator[None]:
    """Every test starts from the stock client, and restores what it replaced."""
    assert standing() == ORIGINALS
    yield
    lazyentity.unpatch()
    assert standing() == ORIGINALS
