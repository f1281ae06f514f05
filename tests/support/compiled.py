"""The tests refuse a native backend that was compiled from other sources."""

from __future__ import annotations

import json
import sysconfig

import pytest

from tools import environment


def problem() -> str | None:
    """Return why the compiled modules are not those of the sources; None if they are.

    The pure backend is tested beside native implementations, and so refused as well.

    A checkout in which nothing was compiled for this Python has no problem: another distribution is
    tested, or the pure backend.
    """
    record = environment.WHEELS / str(sysconfig.get_config_var("SOABI")) / environment.RECORD
    if not record.exists():
        return None
    if json.loads(record.read_text("utf-8"))[-1] == environment.native():
        return None
    return "the sources of the native backend have changed since it was compiled: run make venv"


def pytest_configure() -> None:
    found = problem()
    if found is not None:
        raise pytest.UsageError(found)
