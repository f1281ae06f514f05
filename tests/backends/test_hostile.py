"""Nobody can make the native backend crash by its private classes: it raises, or does as told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends import hostile_program
from tests.fuzz.calls_child import CLASSES

pytestmark = pytest.mark.any_backend

_ROOT = Path(__file__).parents[2]


def test_hostile_calls() -> None:
    """Every attribute of the classes, called with all arguments, in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-m", hostile_program.__name__],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert finished.returncode == 0, (finished.returncode, finished.stderr)
    assert json.loads(finished.stdout) > 100_000


def test_pickled_state_is_refused() -> None:
    """An extension class keeps its state in C and accepts none from a pickle."""
    for kind in CLASSES:
        assert not hasattr(kind, "__setstate__")
        assert not hasattr(kind, "__setstate_cython__")
