"""A server with the entities of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from apache_beam.io.gcp.datastore.v1new import helper
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from tests.patches.beam import pipelines
from tests.support.clients import close, make_client


@pytest.fixture(scope="session")
def beam_port() -> Iterator[int]:
    """The port of a server for the connector, which keeps its clients."""
    with LoopbackServer() as server:
        yield server.grpc_port


@pytest.fixture
def stored(beam_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[datastore.Client]:
    """A client of the server, on which the entities of the pipeline are as they were at first."""
    monkeypatch.setenv(GCD_HOST, f"127.0.0.1:{beam_port}")
    client = make_client(beam_port, "grpc")
    client.put_multi(pipelines.stored(client))
    yield client
    close(client)
    helper.get_client.cache_clear()


@pytest.fixture
def contents(stored: datastore.Client) -> Callable[[], dict[Any, datastore.Entity]]:
    """Returns what is stored now, by key, read with a stock client."""

    def read() -> dict[Any, datastore.Entity]:
        lazyentity.unpatch()
        return {entity.key: entity for entity in stored.query(kind=pipelines.KIND).fetch()}

    return read
