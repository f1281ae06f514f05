"""One loopback server with a few stored entities, and the guard that every test leaves no patch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity._environment import ADAPTERS
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.patches.clients import CLIENTS
from tests.patches.order_program import COUNT, KIND, read
from tests.support.clients import close, make_client
from tests.support.entities import fill

Ports = dict[str, int]
Make = Callable[..., datastore.Client]

_SEAMS = CLIENTS["datastore"].seams
_ORIGINALS = [seam.resolve() for seam in _SEAMS]


def is_stock() -> bool:
    """Whether the client has its own attributes in all places that a patch replaces."""
    # By identity: a wrapper can be equal to the function that it wraps.
    return all(map(operator.is_, _ORIGINALS, [seam.resolve() for seam in _SEAMS]))


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
    """The stored entities, read with the stock client by :func:`order_program.read`."""
    assert is_stock()
    client = make_client(ports["grpc"], "grpc")
    reads = read(client)
    close(client)
    assert reads["classes"] == ["Entity"]
    return reads["contents"]


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


@pytest.fixture
def patched(_stock_before_and_after: None) -> None:
    """Reads are lazy in this test."""
    lazyentity.patch()


@pytest.fixture(autouse=True)
def _stock_before_and_after() -> Iterator[None]:
    """Every test starts from stock clients, and leaves no patch.

    The environment names no server, and switches the adapters off.
    """
    assert lazyentity.patched() == ()
    assert is_stock()
    # With a separate context: the test's monkeypatch has to be undone before this checks again.
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv(GCD_HOST, raising=False)
        # They have tests of their own, and look at every loaded module.
        environment.setenv(ADAPTERS, "0")
        yield
    lazyentity.unpatch()
    assert is_stock()
