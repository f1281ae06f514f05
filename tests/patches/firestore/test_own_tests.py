"""The client's own unit tests and system tests, stock and patched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.patches.firestore.test_emulator import running
from tests.upstream import suite

pytestmark = pytest.mark.upstream

_PLUGINS = str(Path(__file__).parent / "own")
TESTS = suite.Suite(
    "google-cloud-firestore",
    arguments=("tests/unit/v1", "-p", "coroutines"),
    path=_PLUGINS,
)
SYSTEM_TESTS = suite.Suite(
    "google-cloud-firestore",
    # The third file is of pipelines, which the emulator does not have.
    arguments=(
        *("tests/system/test_system.py", "tests/system/test_system_async.py"),
        *("-p", "coroutines"),
        # They give a listener ten seconds, which other processes may need.
        *("-k", "not test_watch"),
    ),
    path=_PLUGINS,
)
FEWEST_PASSED = 80
"""Of each of these files, by stock: the emulator lacks parts of the service."""


def test_same_outcomes() -> None:
    """Each test has the outcome that it has without the patch."""
    folder = suite.fetch(TESTS)
    stock = suite.stock_outcomes(TESTS, folder)
    for module in ("async_client", "async_query", "base_document", "client", "query", "watch"):
        prefix = f"tests/unit/v1/test_{module}.py::"
        assert any(
            name.startswith(prefix) and outcome == "passed" for name, outcome in stock.items()
        )
    assert suite.outcomes(TESTS, folder, patched=True) == stock


def test_same_outcomes_on_an_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each system test has the outcome that it has without the patch.

    They run on Google's emulator of Firestore in native mode. Tests of listeners are left
    out, which depend on the time: test_listeners.py compares what listeners get.
    """
    folder = suite.fetch(SYSTEM_TESTS)
    found = []
    with running():
        for patched in (False, True):
            # Each project has its own documents.
            monkeypatch.setenv("GCLOUD_PROJECT", "patched" if patched else "stock")
            found.append(suite.outcomes(SYSTEM_TESTS, folder, patched=patched))
    stock, lazy = found
    for file in SYSTEM_TESTS.arguments[:2]:
        passed = [name for name, outcome in stock.items() if outcome == "passed"]
        assert len([name for name in passed if name.startswith(f"{file}::")]) >= FEWEST_PASSED
    assert lazy == stock
