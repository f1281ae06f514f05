"""Nobody can make the native backend crash by its private classes: it raises, or does as told."""

from __future__ import annotations

import pytest

from tests.backends import hostile_program
from tests.fuzz.calls_child import CLASSES
from tests.support import subprocesses

pytestmark = pytest.mark.any_backend


def test_hostile_calls() -> None:
    """Every attribute of the classes, called with all arguments, in a process of its own."""
    finished = subprocesses.run_for(240, "-m", hostile_program.__name__)
    assert subprocesses.last_line(finished) > 100_000


def test_pickled_state_is_refused() -> None:
    """An extension class keeps its state in C and accepts none from a pickle."""
    for kind in CLASSES:
        assert not hasattr(kind, "__setstate__")
        assert not hasattr(kind, "__setstate_cython__")
