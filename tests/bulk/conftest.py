"""Services of this process, and clients of them in all their kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bulk import reading, writing
from tests.bulk.services import RecordingService, Served, connected_to_new_project, served


@pytest.fixture(scope="session")
def running() -> Iterator[Served]:
    with served() as made:
        yield made


@pytest.fixture
def service(running: Served) -> RecordingService:
    running.service.forget()
    return running.service


@pytest.fixture
def client(running: Served, service: RecordingService) -> Iterator[datastore.Client]:
    """A stock client over gRPC, of a new project."""
    with connected_to_new_project(running) as made:
        yield made


@pytest.fixture(params=["stock", "patch", "wrap"])
def any_client(
    running: Served,
    service: RecordingService,
    transport: str,
    request: pytest.FixtureRequest,
) -> Iterator[datastore.Client]:
    """A client of each kind over each transport, of a new project."""
    with connected_to_new_project(running, transport) as stock:
        if request.param == "wrap":
            yield lazyentity.wrap(stock)
            return
        if request.param == "patch":
            lazyentity.patch(strict=True)
        yield stock
        lazyentity.unpatch()


@pytest.fixture
def requests_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of three keys or mutations, for short lists."""
    monkeypatch.setattr(reading, "MAX_KEYS", 3)
    monkeypatch.setattr(writing, "MAX_MUTATIONS", 3)
