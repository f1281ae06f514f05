"""Reads against Google's emulator of Firestore in native mode, stock and patched.

The emulator comes with Google's SDK, as the component ``cloud-firestore-emulator``, and needs Java.
Tests say so where they do not find it.
"""

from __future__ import annotations

import http.client
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore

import lazyentity
from tests.patches.firestore.describing import outcome
from tests.patches.firestore.reading import READS, WHEN, fill
from tests.patches.firestore.sides import SIDES
from tests.support import child_server

ARCHIVE = "LAZYENTITY_TEST_DOCUMENTS_EMULATOR"
"""The environment variable with the path of the emulator's JAR, if it is elsewhere."""

_IN_SDK = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
_CLASS = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"


def _found() -> str | None:
    """Return the path of the emulator; None if there is none, or no Java."""
    if shutil.which("java") is None:
        return None
    given = os.environ.get(ARCHIVE)
    if given:
        return given
    gcloud = shutil.which("gcloud")
    roots = [Path("/usr/lib/google-cloud-sdk")]
    if gcloud is not None:
        roots.insert(0, Path(gcloud).resolve().parent.parent)
    return next((str(root / _IN_SDK) for root in roots if (root / _IN_SDK).exists()), None)


@contextmanager
def running() -> Iterator[int]:
    """Run the emulator while inside, for all clients of the process, and give its port.

    The test is skipped where the emulator is not installed.
    """
    archive = _found()
    if archive is None:
        pytest.skip(
            f"Google's Firestore emulator is not installed; name its JAR by {ARCHIVE}, or install "
            "google-cloud-cli-firestore-emulator, and Java"
        )

    def command(port: int) -> list[str]:
        java = ["java", "-Duser.language=en", "-cp", archive, _CLASS]
        return [*java, "start", "--host=127.0.0.1", f"--port={port}"]

    with child_server.running(command) as port, pytest.MonkeyPatch.context() as environment:
        environment.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{port}")
        yield port


class Emulator:
    """A running emulator, with the methods of the server that the reads call."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._client: Any = firestore.Client(project="p", credentials=AnonymousCredentials())

    def clear(self) -> None:
        """Forget all documents."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("DELETE", "/emulator/v1/projects/p/databases/(default)/documents")
        assert connection.getresponse().status == 200
        connection.close()

    def put(self, path: str, fields: dict[str, Any]) -> None:
        """Store a document."""
        self._client.document(path).set({**fields})

    def close(self) -> None:
        """Close the client."""
        self._client._firestore_api_internal.transport.close()


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with running() as port:
        started = Emulator(port)
        yield started
        started.close()


def _without_times(told: Any) -> Any:
    """Return an outcome without the times of writes and reads, which differ."""
    if isinstance(told, dict):
        return {name: _without_times(each) for name, each in told.items()}
    if not isinstance(told, (list, tuple)):
        return told
    name = getattr(told[0], "__name__", "") if told else ""
    is_now = name == "Timestamp" or (
        name == "DatetimeWithNanoseconds" and f"({WHEN.year}, " not in told[1]
    )
    return [name] if is_now else [_without_times(each) for each in told]


@pytest.mark.emulator
@pytest.mark.parametrize("kind", SIDES)
@pytest.mark.parametrize("name", READS)
def test_same_results(name: str, kind: type[Any], emulator: Emulator) -> None:
    side: Any = SIDES[kind](kind(project="p", credentials=AnonymousCredentials()))

    def result() -> Any:
        emulator.clear()
        fill(emulator)
        return _without_times(outcome(lambda: READS[name](side)))

    expected = result()
    lazyentity.patch("firestore", strict=True)
    assert result() == expected
    with lazyentity.eager():
        assert result() == expected
    side.close()
