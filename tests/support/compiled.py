"""The tests refuse a native backend that was compiled from other sources."""

from __future__ import annotations

import pytest

from tools import native


def pytest_configure() -> None:
    """Stop before a test runs on modules that do not match their sources.

    Raises:
        pytest.UsageError: a source changed after the modules were compiled.
    """
    if native.is_stale():
        raise pytest.UsageError(
            "the sources of the native backend have changed since it was compiled: run make venv"
        )
