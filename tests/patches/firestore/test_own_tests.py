"""The client's own unit tests, stock and patched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.upstream import suite

pytestmark = pytest.mark.upstream

TESTS = suite.Suite(
    "google-cloud-firestore",
    arguments=("tests/unit/v1", "-p", "coroutines"),
    path=str(Path(__file__).parent / "own"),
)


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
