"""The subjects of the clients that are installed, and their servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.conftest import INSTALLED
from tests.patches.clients.subjects import KIND, SUBJECTS, Subject
from tests.patches.conftest import Ports

NAMES = [name for name, one in SUBJECTS.items() if one.client in INSTALLED]
READING_EAGERLY = [name for name in NAMES if SUBJECTS[name].reads_eagerly]
"""The subjects whose reads show eager mode."""


@pytest.fixture(scope="session")
def documents_port() -> Iterator[int]:
    """The port of a server with one document."""
    from tests.patches.firestore.server import DocumentServer

    with DocumentServer() as server:
        server.put(f"{KIND}/1", {"number": 1})
        yield server.port


@pytest.fixture(params=NAMES)
def subject(request: pytest.FixtureRequest) -> Subject:
    """Each client, and each part of a client."""
    return SUBJECTS[request.param]


@pytest.fixture
def port(subject: Subject, request: pytest.FixtureRequest) -> int:
    """The port of the server of the subject; 0, if it needs none."""
    if subject.server == "documents":
        port: Any = request.getfixturevalue("documents_port")
        return int(port)
    ports: Ports = request.getfixturevalue("ports") if subject.server else {"": 0}
    return ports[subject.server]


@pytest.fixture
def is_lazy(subject: Subject, port: int) -> Callable[[], bool]:
    """Reads; says whether the result is lazy."""
    return partial(subject.is_lazy, port)
