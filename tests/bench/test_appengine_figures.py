"""The page about App Engine has the figures of the committed results."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lazyentity.bench.report.__main__ import main

pytestmark = pytest.mark.any_backend

CHECKOUT = Path(__file__).parents[2]
BACKENDS = ["native", "pure"]


def committed(backend: str) -> Path:
    return CHECKOUT / "bench" / "results" / f"appengine-{backend}.json"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_page_shows_the_committed_results(backend: str) -> None:
    """All of them, losses included; ``make results WHAT=appengine`` does it."""
    options = ["--compact", "--section", f"appengine-{backend}-table"]
    page = CHECKOUT / "docs" / "appengine.rst"
    outcome = CliRunner().invoke(main, [str(committed(backend)), "--check", str(page), *options])
    assert outcome.exit_code == 0, outcome.output
