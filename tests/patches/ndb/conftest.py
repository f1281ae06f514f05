"""Servers, ndb clients and patches, each in all their kinds."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud.ndb import global_cache

from lazyentity.bench.server.process import LoopbackServer
from lazyentity.patches.clients import ClientName
from tests.patches.ndb.caches import CACHES, running
from tests.patches.ndb.clients import make_client
from tests.patches.ndb.pairs import LEGACY, context
from tests.patches.ndb.sides import Sides, Stored
from tests.patches.ndb.stored import store
from tests.support.emulator import running_emulator
from tests.support.servers import in_small_batches

# A loopback server that sends everything at once has its own fixture.
SERVERS = [
    "small-batches",
    # Fails, not skips, when it is asked for and there is none.
    pytest.param("emulator", marks=pytest.mark.emulator),
]


@contextmanager
def _stored_in(port: int, *, is_complete: bool = True) -> Iterator[Stored]:
    namespace = f"stored-{uuid.uuid4().hex}"
    client = make_client(f"127.0.0.1:{port}")
    store(client, namespace)
    yield Stored(client, namespace, is_complete)
    client.stub.close()


@pytest.fixture(scope="session")
def loopback_port() -> Iterator[int]:
    """One server, for tests that do not depend on its kind."""
    with LoopbackServer() as server:
        yield server.grpc_port


@pytest.fixture(scope="session")
def loopback(loopback_port: int) -> str:
    """The host of that server."""
    return f"127.0.0.1:{loopback_port}"


@pytest.fixture(scope="session")
def stored_in_loopback(loopback_port: int) -> Iterator[Stored]:
    with _stored_in(loopback_port) as stored:
        yield stored


@pytest.fixture(scope="session", params=SERVERS)
def stored(request: pytest.FixtureRequest) -> Iterator[Stored]:
    """Each of the servers."""
    if request.param == "emulator":
        with running_emulator() as port, _stored_in(port, is_complete=False) as stored:
            yield stored
        return
    with in_small_batches() as server, _stored_in(server.grpc_port) as stored:
        yield stored


@pytest.fixture
def client(loopback: str, namespace: str) -> Iterator[Any]:
    """A client of a namespace that is this test's own."""
    made = make_client(loopback, namespace=namespace)
    yield made
    made.stub.close()


@pytest.fixture
def namespace() -> str:
    """One that is this test's own."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture(params=[("ndb",), ()], ids=["ndb", "all-clients"])
def names(request: pytest.FixtureRequest) -> tuple[ClientName, ...]:
    """The names that patch() is called with."""
    chosen: tuple[ClientName, ...] = request.param
    return chosen


@pytest.fixture
def sides(stored: Stored, namespace: str, names: tuple[ClientName, ...]) -> Sides:
    """Stock ndb and lazy reads, on each of the servers."""
    return Sides(stored, namespace, names)


@pytest.fixture
def loopback_sides(
    stored_in_loopback: Stored, namespace: str, names: tuple[ClientName, ...]
) -> Sides:
    """Stock ndb and lazy reads, for tests that do not depend on the server."""
    return Sides(stored_in_loopback, namespace, names)


@pytest.fixture(scope="module", params=CACHES)
def _cache(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "in-process":
        yield global_cache._InProcessGlobalCache()
        return
    with running(request.param) as made:
        yield made


@pytest.fixture
def cache(_cache: Any) -> Iterator[Any]:
    """A global cache with nothing in it."""
    _cache.clear()
    yield _cache
    _cache.clear()


@pytest.fixture(params=LEGACY)
def either_context(request: pytest.FixtureRequest) -> Iterator[None]:
    """Contexts that write structured properties in either way."""
    with context(legacy_data=request.param):
        yield
