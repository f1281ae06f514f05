"""Nobody can make the native backend crash by its private classes: it raises, or does as told."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.backends import hostile_program

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
    assert json.loads(finished.stdout) > 10_000


def test_no_class_is_left_out() -> None:
    """Each class of each native module is among them."""
    found = {
        f"{kind.__module__}.{kind.__qualname__}"
        for module in hostile_program.MODULES
        for kind in vars(importlib.import_module(module)).values()
        if isinstance(kind, type) and kind.__module__ == module
    }
    assert found <= set(hostile_program.CLASSES)


def test_pickled_state_is_refused() -> None:
    """An extension class keeps its state in C and accepts none from a pickle."""
    for name in hostile_program.CLASSES:
        kind: Any = hostile_program.class_of(name)
        assert not hasattr(kind, "__setstate__")
        assert not hasattr(kind, "__setstate_cython__")
