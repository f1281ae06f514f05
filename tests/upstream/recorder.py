"""A pytest plugin for the client's own suite: patches on request, and records every outcome.

It runs inside the subprocess that runs the suite, where this project's configuration does not
reach; the environment variables named below are set by :mod:`suite`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

OUTCOMES = "LAZYENTITY_UPSTREAM_OUTCOMES"
PATCHED = "LAZYENTITY_UPSTREAM_PATCHED"

_outcomes: dict[str, str] = {}


def pytest_configure() -> None:
    """Patch before the suite is collected, so that no test module holds a stock function."""
    if PATCHED in os.environ:
        import lazyentity

        lazyentity.patch(strict=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the call's outcome, or that of a set-up or tear-down that did not pass."""
    if report.when == "call" or not report.passed:
        _outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    """Write the outcomes, unless the patch was lost on the way: then nothing was shown."""
    if PATCHED in os.environ:
        import lazyentity

        assert lazyentity.patched(), "the suite ended without the patch that it began with"
    Path(os.environ[OUTCOMES]).write_text(json.dumps(_outcomes))
