"""Options of ``pytest bench/``."""

from __future__ import annotations

import pytest

from lazyentity.bench.harness import sides


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice between the quick cases and all of them."""
    parser.addoption(
        "--all-cases",
        action="store_true",
        help="benchmark every case of the full run, not only those of the quick one",
    )


@pytest.fixture(params=["stock", "lazy"])
def side(request: pytest.FixtureRequest) -> str:
    """A side to time, in a process whose stock side is stock."""
    sides.require_unpatched()
    name: str = request.param
    return name
