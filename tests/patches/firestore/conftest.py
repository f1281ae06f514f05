"""A server of documents, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore

from tests.patches.firestore.server import DocumentServer
from tests.patches.firestore.sides import SIDES

EMULATOR_HOST = "FIRESTORE_EMULATOR_HOST"
Make = Callable[..., Any]


@pytest.fixture(scope="session")
def documents_server() -> Iterator[DocumentServer]:
    with DocumentServer() as running:
        yield running


@pytest.fixture
def server(documents_server: DocumentServer) -> DocumentServer:
    """The server, without documents."""
    documents_server.clear()
    return documents_server


@pytest.fixture
def make_side(server: DocumentServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes a side with a client of the server; closes it in the end."""
    monkeypatch.setenv(EMULATOR_HOST, f"127.0.0.1:{server.port}")
    made: list[Any] = []

    def make(kind: type[Any] = firestore.Client, **options: Any) -> Any:
        client = kind(project="p", credentials=AnonymousCredentials(), **options)
        side = next(SIDES[base] for base in kind.__mro__ if base in SIDES)(client)
        made.append(side)
        return side

    yield make
    for side in made:
        side.close()


@pytest.fixture(params=SIDES, ids=lambda kind: kind.__name__)
def side(make_side: Make, request: pytest.FixtureRequest) -> Any:
    """A side with either kind of client."""
    return make_side(request.param)


@pytest.fixture
def client(make_side: Make) -> Any:
    """A ``Client`` of the server."""
    return make_side().client
