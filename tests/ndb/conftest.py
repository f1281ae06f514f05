"""Servers, ndb clients and patches, each in all their kinds."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import pytest
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from tests.integration.emulator import running_emulator
from tests.ndb.clients import make_client
from tests.ndb.sides import Sides
from tests.ndb.stored import store

SMALL_BATCH = 3
SMALL_LOOKUP = 2


@dataclass(frozen=True)
class Server:
    """A Datastore server that speaks gRPC."""

    host: str
    """With the port."""
    is_complete: bool
    """Whether it has everything that is tested here."""


@contextmanager
def _loopback() -> Iterator[Server]:
    with LoopbackServer() as server:
        yield Server(f"127.0.0.1:{server.grpc_port}", is_complete=True)


@contextmanager
def _loopback_in_small_batches() -> Iterator[Server]:
    with LoopbackServer(batch_size=SMALL_BATCH, lookup_limit=SMALL_LOOKUP) as server:
        yield Server(f"127.0.0.1:{server.grpc_port}", is_complete=True)


@contextmanager
def _emulator() -> Iterator[Server]:
    with running_emulator() as port:
        yield Server(f"127.0.0.1:{port}", is_complete=False)


# Of a loopback server that sends everything at once there is a fixture of its own.
SERVERS = [
    pytest.param(_loopback_in_small_batches, id="small-batches"),
    # Fails, not skips, when it is asked for and there is none.
    pytest.param(_emulator, id="emulator", marks=pytest.mark.emulator),
]


@dataclass(frozen=True)
class Stored:
    """A client of a server, and the namespace that everything to be read is stored in."""

    server: Server
    client: Any
    namespace: str


@contextmanager
def _stored_in(server: Server) -> Iterator[Stored]:
    namespace = f"stored-{uuid.uuid4().hex}"
    client = make_client(server.host)
    store(client, namespace)
    yield Stored(server, client, namespace)
    client.stub.close()


@pytest.fixture(scope="session")
def loopback() -> Iterator[Server]:
    """One server, for what does not depend on its kind."""
    with _loopback() as server:
        yield server


@pytest.fixture(scope="session")
def stored_in_loopback(loopback: Server) -> Iterator[Stored]:
    with _stored_in(loopback) as stored:
        yield stored


@pytest.fixture(scope="session", params=SERVERS)
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    """Each of the servers."""
    with request.param() as server, _stored_in(server) as stored:
        yield stored


@pytest.fixture
def client(loopback: Server, namespace: str) -> Iterator[Any]:
    """A client of a namespace that is this test's own."""
    made = make_client(loopback.host, namespace=namespace)
    yield made
    made.stub.close()


@pytest.fixture
def namespace() -> str:
    """One that is this test's own."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture(params=[pytest.param(("ndb",), id="ndb"), pytest.param((), id="all-clients")])
def names(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What is patched."""
    chosen: tuple[str, ...] = request.param
    return chosen


def _sides(stored: Stored, namespace: str, names: tuple[str, ...]) -> Sides:
    return Sides(
        stored.client,
        stored=stored.namespace,
        own=namespace,
        names=names,
        complete=stored.server.is_complete,
    )


@pytest.fixture
def sides(stored: Stored, namespace: str, names: tuple[str, ...]) -> Sides:
    """Stock ndb and lazy reads, on each of the servers."""
    return _sides(stored, namespace, names)


@pytest.fixture
def loopback_sides(stored_in_loopback: Stored, namespace: str, names: tuple[str, ...]) -> Sides:
    """Stock ndb and lazy reads, for what does not depend on the server."""
    return _sides(stored_in_loopback, namespace, names)


@pytest.fixture
def patched(names: tuple[str, ...]) -> Iterator[None]:
    """Reads are lazy in this test."""
    lazyentity.patch(*names, strict=True)
    yield
    lazyentity.unpatch()


@pytest.fixture(autouse=True)
def _stock_before_and_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test starts from stock ndb, on no server that the environment names."""
    monkeypatch.delenv(GCD_HOST, raising=False)
    assert GCD_HOST not in os.environ
    assert lazyentity.patched() == ()
    yield
    lazyentity.unpatch()


@pytest.fixture(scope="session")
def stock_process() -> Iterator[ProcessPoolExecutor]:
    """A process that never imports lazyentity."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool
