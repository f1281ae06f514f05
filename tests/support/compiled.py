"""The tests refuse a native backend that was compiled from other sources."""

from __future__ import annotations

import json
import sysconfig

import pytest

from tools import environment


def problem() -> str | None:
    """Return why the compiled modules do not match the sources; None if they do.

    The pure backend is tested beside native implementations, and so refused as well.

    A checkout in which nothing was compiled for this Python has no problem: another distribution is
    tested, or the pure backend. Modules that were compiled without ``make`` have no record of their
    sources, which then must not be newer.
    """
    record = environment.WHEELS / str(sysconfig.get_config_var("SOABI")) / environment.RECORD
    if record.exists():
        is_stale = json.loads(record.read_text("utf-8"))[-1] != environment.native()
    else:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        modules = (environment.CHECKOUT / "lazyentity").rglob(f"*{suffix}")
        compiled = [module.stat().st_mtime for module in modules]
        changed = [source.stat().st_mtime for source in environment.native_sources()]
        is_stale = bool(compiled) and max(changed) > min(compiled)
    if is_stale:
        return "the sources of the native backend have changed since it was compiled: run make venv"
    return None


def pytest_configure() -> None:
    found = problem()
    if found is not None:
        raise pytest.UsageError(found)
