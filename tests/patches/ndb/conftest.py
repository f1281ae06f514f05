"""Servers, ndb clients and patches, each in all their kinds."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.cloud.environment_vars import GCD_HOST
from google.cloud.ndb import global_cache

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.patches.clients import ClientName
from tests.patches.ndb.activation import STATE
from tests.patches.ndb.cache_servers import running_memcached, running_redis
from tests.patches.ndb.caches import CACHE_SERVERS, CACHES
from tests.patches.ndb.clients import make_client
from tests.patches.ndb.pairs import LEGACY, context
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import store
from tests.support.emulator import running_emulator
from tests.support.forks import answer
from tests.support.servers import in_small_batches


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
    with in_small_batches() as server:
        yield Server(f"127.0.0.1:{server.grpc_port}", is_complete=True)


@contextmanager
def _emulator() -> Iterator[Server]:
    with running_emulator() as port:
        yield Server(f"127.0.0.1:{port}", is_complete=False)


# A loopback server that sends everything at once has its own fixture.
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
    """One server, for tests that do not depend on its kind."""
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
def names(request: pytest.FixtureRequest) -> tuple[ClientName, ...]:
    """The names that patch() is called with."""
    chosen: tuple[ClientName, ...] = request.param
    return chosen


def _sides(stored: Stored, namespace: str, names: tuple[ClientName, ...]) -> Sides:
    return Sides(
        stored.client,
        stored=stored.namespace,
        own=namespace,
        names=names,
        complete=stored.server.is_complete,
    )


@pytest.fixture
def sides(stored: Stored, namespace: str, names: tuple[ClientName, ...]) -> Sides:
    """Stock ndb and lazy reads, on each of the servers."""
    return _sides(stored, namespace, names)


@pytest.fixture
def loopback_sides(
    stored_in_loopback: Stored, namespace: str, names: tuple[ClientName, ...]
) -> Sides:
    """Stock ndb and lazy reads, for tests that do not depend on the server."""
    return _sides(stored_in_loopback, namespace, names)


@pytest.fixture
def patched(names: tuple[ClientName, ...]) -> Iterator[None]:
    """Reads are lazy in this test."""
    lazyentity.patch(*names, strict=True)
    yield
    lazyentity.unpatch()


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    # Fails, not skips, when it is asked for and there is none.
    folder: Path = tmp_path_factory.mktemp("redis")
    with running_redis(folder) as port:
        yield port


@pytest.fixture(scope="session")
def memcache_port() -> Iterator[int]:
    # As for redis_port.
    with running_memcached() as port:
        yield port


@pytest.fixture(params=["in-process", *CACHE_SERVERS])
def cache(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A global cache with nothing in it."""
    if request.param == "in-process":
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(global_cache._InProcessGlobalCache, "cache", {})
            yield global_cache._InProcessGlobalCache()
        return
    with CACHES[request.param](request.getfixturevalue(f"{request.param}_port")) as made:
        made.clear()
        yield made


@pytest.fixture
def ask(loopback: Server) -> Any:
    """Runs a program after that of :mod:`tests.patches.ndb.activation`; returns its answer."""

    def ask_one(body: str, **environment: str) -> Any:
        return answer("-c", STATE + body, **{GCD_HOST: loopback.host, **environment})

    return ask_one


@pytest.fixture
def modern_context() -> Iterator[None]:
    """A context that writes structured properties as entities."""
    with context(legacy_data=False):
        yield


@pytest.fixture(params=LEGACY)
def either_context(request: pytest.FixtureRequest) -> Iterator[None]:
    """Contexts that write structured properties in either way."""
    with context(legacy_data=request.param):
        yield
