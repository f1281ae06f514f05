"""The client's own unit tests and system tests, stock and patched.

The system tests run on Google's emulator of Firestore in native mode, if it is installed. It comes
with Google's SDK, as the component ``cloud-firestore-emulator``, and needs Java.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import child_server
from tests.upstream import suite

pytestmark = pytest.mark.upstream

_PLUGINS = str(Path(__file__).parent / "own")


def _suite(*arguments: str) -> suite.Suite:
    options = (*arguments, "-p", "coroutines")
    return suite.Suite("google-cloud-firestore", arguments=options, path=_PLUGINS)


TESTS = _suite("tests/unit/v1")
SYSTEM_FILES = "tests/system/test_system.py", "tests/system/test_system_async.py"
"""The third file is of pipelines, which the emulator does not have."""
# They give a listener ten seconds, which other processes may need.
SYSTEM_TESTS = _suite(*SYSTEM_FILES, "-k", "not test_watch")
FEWEST_PASSED = 80
"""Of each of these files, by stock: the emulator lacks parts of the service."""


ARCHIVE = "LAZYENTITY_TEST_DOCUMENTS_EMULATOR"
"""The environment variable with the path of the emulator's JAR, if it is elsewhere."""

_IN_SDK = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
_CLASS = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"


def _found() -> str | None:
    """Return the path of the emulator; None if there is none, or no Java."""
    if shutil.which("java") is None:
        return None
    gcloud = shutil.which("gcloud")
    root = Path(gcloud).resolve().parent.parent if gcloud else Path("/usr/lib/google-cloud-sdk")
    given = os.environ.get(ARCHIVE) or str(root / _IN_SDK)
    return given if Path(given).exists() else None


@contextmanager
def _emulator() -> Iterator[None]:
    """Run the emulator while inside, for all clients of the process.

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
        yield


def test_same_outcomes() -> None:
    """Each test has the outcome that it has without the patch."""
    folder = suite.fetch(TESTS)
    stock = suite.stock_outcomes(TESTS, folder)
    passed = {name.partition("::")[0] for name, outcome in stock.items() if outcome == "passed"}
    modules = ("async_client", "async_query", "base_document", "client", "query", "watch")
    assert passed >= {f"tests/unit/v1/test_{module}.py" for module in modules}
    assert suite.outcomes(TESTS, folder, patched=True) == stock


@pytest.mark.emulator
def test_same_outcomes_on_an_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of system tests.

    Tests of listeners are left out, which depend on the time: test_listeners.py compares what
    listeners get.
    """
    folder = suite.fetch(SYSTEM_TESTS)
    found = []
    with _emulator():
        for patched in (False, True):
            # Each project has its own documents.
            monkeypatch.setenv("GCLOUD_PROJECT", "patched" if patched else "stock")
            found.append(suite.outcomes(SYSTEM_TESTS, folder, patched=patched))
    stock, lazy = found
    passed = [name for name, outcome in stock.items() if outcome == "passed"]
    for file in SYSTEM_FILES:
        assert len([name for name in passed if name.startswith(f"{file}::")]) >= FEWEST_PASSED
    assert lazy == stock
