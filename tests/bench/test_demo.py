from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from lazyentity.bench.demo import main


def test_demo() -> None:
    """The demonstration shows both codes, how much each decoded, and equal totals."""
    child = subprocess.run(
        [sys.executable, "-m", "lazyentity", "demo"],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert child.stdout.count("query.fetch()") == 2
    assert child.stdout.count("import lazyentity.auto") == 1
    decoded = next(line for line in child.stdout.splitlines() if "properties decoded" in line)
    assert " ".join(decoded.split()) == "properties decoded 30,000 of 30,000 300 of 30,000"
    assert "equal" in child.stdout


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would show no difference."""
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    outcome = CliRunner().invoke(main)
    assert outcome.exit_code == 2
    assert (
        outcome.output
        == "Error: LAZYENTITY_DISABLE is set, so there is nothing to show; unset it\n"
    )
