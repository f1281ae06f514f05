"""Options of ``pytest bench/``."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice between the quick cases and all of them."""
    parser.addoption(
        "--all-cases",
        action="store_true",
        help="benchmark every case of the full run, not only those of the quick one",
    )
