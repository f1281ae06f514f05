from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bench.server.process import LoopbackServer


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as server:
        yield server


@pytest.fixture
def emulated(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    """An empty server where the clients of the examples look for one, and no patch left behind."""
    monkeypatch.setenv("DATASTORE_EMULATOR_HOST", f"127.0.0.1:{server.grpc_port}")
    yield server
    lazyentity.unpatch()
    client = datastore.Client(project="demo")
    query = client.query()
    query.keys_only()
    client.delete_multi([entity.key for entity in query.fetch()])
