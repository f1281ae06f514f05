"""Modules are short enough to have one reason to change."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[1]
MOST_LINES = 400
FOLDERS = ("lazyentity", "patches", "bench", "tests", "tools", "docs")


def test_no_module_is_too_long() -> None:
    """The tests are included. A module that needs more lines says why in its head, and is here."""
    lines = {
        path: len(path.read_text("utf-8").splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.p*")
        if path.suffix in (".py", ".pyx", ".pxd", ".pyi")
    }
    assert {"mapping.pyx", "wire.pxd", "test_sizes.py"} <= {path.name for path in lines}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}
