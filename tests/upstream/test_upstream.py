"""The client's own unit tests, run with the patch active."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.upstream import suite
from tests.upstream.allowed import ALLOWED

pytestmark = pytest.mark.upstream


class Runs(NamedTuple):
    """Outcomes of a suite by node id, without and with the patch."""

    stock: dict[str, str]
    patched: dict[str, str]


@pytest.fixture(scope="module")
def runs() -> Runs:
    folder = suite.fetch(suite.OF_CLIENT)
    return Runs(
        stock=suite.stock_outcomes(suite.OF_CLIENT, folder),
        patched=suite.outcomes(suite.OF_CLIENT, folder, patched=True),
    )


@pytest.mark.parametrize("module", ["_http", "batch", "client", "entity", "helpers", "query"])
def test_the_suite_really_ran(runs: Runs, module: str) -> None:
    """Every part of the client that the patch touches is covered by tests that pass on stock."""
    prefix = f"tests/unit/test_{module}.py::"
    assert any(
        name.startswith(prefix) and outcome == "passed" for name, outcome in runs.stock.items()
    )


def test_the_patch_hides_no_test(runs: Runs) -> None:
    """The same tests are collected, and the same ones are skipped, with the patch and without."""
    assert runs.patched.keys() == runs.stock.keys()
    assert [name for name, outcome in runs.patched.items() if outcome == "skipped"] == [
        name for name, outcome in runs.stock.items() if outcome == "skipped"
    ]


def test_failures_are_those_allowed(runs: Runs) -> None:
    """With the patch exactly the listed tests fail, beside those that fail on stock as well.

    Checked both ways: a listed test that passes is a reason that no longer holds.
    """
    failed = {
        name
        for name, outcome in runs.patched.items()
        if outcome == "failed" and runs.stock[name] != "failed"
    }
    assert sorted(failed) == sorted(ALLOWED)
