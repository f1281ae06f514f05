"""The native backend leaves nothing behind on any path, and no call of its classes crashes it."""

from __future__ import annotations

import sys

import pytest

from lazyentity.codec.undecoded import UNDECODED
from tests.backends import leak_program
from tests.backends.backends import NATIVE
from tests.backends.leak_program import SLACK, leaks
from tests.backends.malformed import entity_of
from tests.support import subprocesses

# The entities of a round of all paths.
COUNTS = [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
def test_no_path_leaks(count: int) -> None:
    """After many entities, memory is as before."""
    finished = subprocesses.run_for(None, "-m", leak_program.__name__, str(count))
    growth = subprocesses.last_line(finished)
    assert count // len(growth) > 10 * SLACK
    assert {path: leaked for path, grown in growth.items() if (leaked := leaks(grown))} == {}


def test_names_that_never_repeat_are_forgotten() -> None:
    """The memory of names is bounded for any number of names.

    Each name that is remembered is a reference to the sentinel.
    """
    properties = b"".join(entity_of(f"____ {n}") for n in range(200))
    before = sys.getrefcount(UNDECODED)
    names = 0
    for ordinal in range(2_000):
        entity = NATIVE.from_bytes(properties.replace(b"____", b"%04d" % ordinal))
        names += len(entity)
    assert names == 400_000
    assert sys.getrefcount(UNDECODED) - before < 200_000


def test_hostile_calls() -> None:
    """Functions and attributes of the native classes, called with any arguments."""
    finished = subprocesses.run_for(240, "-m", "tests.fuzz.calls", "--count", "2000")
    assert finished.returncode == 0, (finished.stdout[-20:], finished.stderr)
