"""A pytest plugin for a foreign suite: patches on request, and records every outcome.

It runs inside the subprocess that runs the suite, where this project's configuration does not
reach; the environment variables named below are set by :mod:`suite`. Programs that run tests
without pytest call :func:`begin`, :func:`keep` and :func:`end`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

OUTCOMES = "LAZYENTITY_UPSTREAM_OUTCOMES"
PATCHED = "LAZYENTITY_UPSTREAM_PATCHED"

_outcomes: dict[str, str] = {}
_alive: list[Any] = []
"""An entity with an undecoded property: adapters may do nothing while there is none."""


def begin() -> None:
    """Patch, if that is asked for, and keep an entity that was not read."""
    if PATCHED in os.environ:
        import lazyentity

        lazyentity.patch(strict=True)
        # Entity{properties: {"a": Value{integer_value: 1}}}
        _alive.append(lazyentity.LazyEntity.from_bytes(b"\x1a\x07\x0a\x01a\x12\x02\x10\x01"))


def keep(name: str, outcome: str) -> None:
    """Keep the outcome of a test, or of a part of it that did not pass."""
    _outcomes[name] = outcome


def end() -> None:
    """Write the outcomes, unless the patch was lost on the way: then nothing was shown."""
    if PATCHED in os.environ:
        import lazyentity

        assert lazyentity.patched(), "the suite ended without the patch that it began with"
        assert not lazyentity.decoded(_alive[0]), "the suite decoded a foreign entity"
    Path(os.environ[OUTCOMES]).write_text(json.dumps(_outcomes))


def pytest_configure() -> None:
    """Patch before the suite is collected, so that no test module holds a stock function."""
    begin()


def pytest_runtest_logreport(report: Any) -> None:
    """Keep the call's outcome, or that of a set-up or tear-down that did not pass."""
    if report.when == "call" or not report.passed:
        keep(report.nodeid, report.outcome)


def pytest_collectreport(report: Any) -> None:
    """Keep that a module cannot be collected, as one whose requirements are missing."""
    if not report.passed:
        keep(report.nodeid, f"collection {report.outcome}")


def pytest_sessionfinish() -> None:
    """Write the outcomes."""
    end()
