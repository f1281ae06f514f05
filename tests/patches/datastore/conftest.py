"""A server in this process that records requests, and ways to lazy reads from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud import datastore
from google.cloud.datastore.query import Query

from tests.bulk.services import RecordingService, Served, connected, served
from tests.patches import order_program
from tests.patches.datastore.recording import AT_ONCE, store


@pytest.fixture(scope="session")
def _running() -> Iterator[Served]:
    with served(batch_size=AT_ONCE, lookup_limit=AT_ONCE) as made:
        with connected(made) as client:
            store(client)
        yield made


@pytest.fixture
def running(_running: Served) -> Served:
    """A server with entities that answers with at most three at once, and defers other keys.

    It has recorded nothing yet.
    """
    _running.service.forget()
    return _running


@pytest.fixture
def service(running: Served) -> RecordingService:
    return running.service


@pytest.fixture
def recorded(
    running: Served, service: RecordingService, transport: str
) -> Iterator[datastore.Client]:
    """A client of that server."""
    with connected(running, transport) as made:
        yield made


@pytest.fixture
def query(client: datastore.Client) -> Query:
    """All entities of the programs that tests of several clients run, in their order."""
    made: Query = client.query(kind=order_program.KIND, order=["__key__"])
    return made
