"""Servers, clients and lazy reads, each in all their kinds."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity._environment import ADAPTERS
from lazyentity.bench.server.process import LoopbackServer
from tests.integration.rewrites import Endpoint, environment_endpoint, wipe
from tests.support.clients import TRANSPORTS, close
from tests.support.describing import entity_types
from tests.support.emulator import running_emulator
from tests.support.servers import in_small_batches
from tests.support.snapshots import Raised, outcome, snapshot

Client = datastore.Client
Scenario = Callable[[Client], Any]


def _nothing(_client: Client) -> None:
    pass


class Sides:
    """Runs scenarios three times: with the stock client, lazily, and lazily but within eager().

    Args:
        client: a stock client.
        activation: ``"patch"`` or ``"wrap"``, how the reads are made lazy.
        complete: whether the server has all that is tested here. If not, only that both
            sides get the same is checked.
    """

    def __init__(self, client: Client, activation: str, *, complete: bool) -> None:
        self.client = client
        self._activation = activation
        self.complete = complete

    @contextmanager
    def lazily(self) -> Iterator[Client]:
        """Give the client whose reads are lazy inside."""
        if self._activation == "wrap":
            yield lazyentity.wrap(self.client)
            return
        lazyentity.patch(strict=True)
        try:
            yield self.client
        finally:
            lazyentity.unpatch()

    def check(self, scenario: Scenario, prepare: Scenario = _nothing, *, works: bool = True) -> Any:
        """Check that ``scenario`` gives the same with the stock client and lazily.

        Args:
            scenario: called with a client; returns entities, keys and plain values, in lists,
                tuples and dicts. Its result is compared exactly. Its error is compared by class,
                because a server's texts contain transaction numbers and the like.
            prepare: called with a stock client before each run.
            works: whether a complete server lets the scenario succeed.

        Returns:
            The result of ``scenario`` with lazy reads; its error as ``Raised``.
        """
        prepare(self.client)
        stock = outcome(lambda: scenario(self.client))
        prepare(self.client)
        with self.lazily() as client:
            lazy = outcome(lambda: scenario(client))
        prepare(self.client)
        with self.lazily() as client, lazyentity.eager():
            eager = outcome(lambda: scenario(client))

        if self.complete:
            assert isinstance(stock, Raised) is not works, stock
        assert entity_types(stock) <= {"Entity"}
        assert entity_types(eager) == entity_types(stock)
        assert entity_types(lazy) == ({"LazyEntity"} if entity_types(stock) else set())
        expected = _comparable(stock)
        assert _comparable(lazy) == expected
        assert _comparable(eager) == expected
        return lazy


def _comparable(result: Any) -> Any:
    return result.kind if isinstance(result, Raised) else snapshot(result)


MakeClient = Callable[..., Client]


@contextmanager
def _loopback(name: str, server: LoopbackServer) -> Iterator[Endpoint]:
    with server:
        yield Endpoint(name, {"grpc": server.grpc_port, "http": server.http_port})


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
    pytest.param(lambda: _loopback("loopback", LoopbackServer()), id="loopback"),
    pytest.param(
        lambda: _loopback("loopback in small batches", in_small_batches()), id="small-batches"
    ),
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
def sides(
    client: Client, endpoint: Endpoint, activation: str, monkeypatch: pytest.MonkeyPatch
) -> Sides:
    """The stock client and lazy reads, in a namespace that is this test's own."""
    # They have tests of their own, and look at every loaded module.
    monkeypatch.setenv(ADAPTERS, "0")
    return Sides(client, activation, complete=endpoint.is_ours)
