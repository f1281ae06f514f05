"""A server that the environment names, and clients of new projects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

from tests.bulk.services import RecordingService, Served, connected_to_new_project, served


@pytest.fixture(scope="package")
def running() -> Iterator[Served]:
    with served() as made:
        yield made


@pytest.fixture
def service(running: Served, monkeypatch: pytest.MonkeyPatch) -> RecordingService:
    monkeypatch.setenv(GCD_HOST, f"127.0.0.1:{running.ports['grpc']}")
    running.service.forget()
    return running.service


@pytest.fixture
def client(
    running: Served, service: RecordingService, transport: str
) -> Iterator[datastore.Client]:
    """A stock client of a new project."""
    with connected_to_new_project(running, transport) as made:
        yield made
