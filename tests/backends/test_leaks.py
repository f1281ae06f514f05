"""The native backend leaves nothing behind on any path, and no call of its classes crashes it."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from lazyentity.codec.undecoded import UNDECODED
from tests.backends import hostile_program, leak_program
from tests.backends.backends import NATIVE
from tests.backends.leak_program import SLACK, growth, leaks
from tests.backends.malformed import entity_of
from tests.fuzz.calls_child import CLASSES
from tests.support import subprocesses
from tests.support.memory import pages
from tests.support.strategies.samples import PLAIN

pytestmark = pytest.mark.any_backend

# The entities of a round of all paths.
COUNTS = [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
def test_no_path_leaks(count: int) -> None:
    """After many entities, memory and the references to shared objects are as before."""
    finished = subprocesses.run_for(None, "-m", leak_program.__name__, str(count))
    growth = subprocesses.last_line(finished)
    assert count // len(growth) > 10 * SLACK
    assert {path: leaked for path, grown in growth.items() if (leaked := leaks(grown))} == {}


def test_memory_that_is_kept_is_a_leak() -> None:
    """Also if no object of Python's allocator has it."""
    kept: list[mmap.mmap] = []

    def keep(_: bytes) -> None:
        # New pages: malloc() may have enough that others gave back.
        kept.append(mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        kept[-1].write(b"x" * len(kept[-1]))

    grown = growth(keep, PLAIN, 1)
    assert leaks(grown).keys() == {"memory"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the pages apart")
def test_pages_of_files_are_no_leak(tmp_path: Path) -> None:
    """They come back one by one after other processes needed memory, as pages of libraries do."""
    path = tmp_path / "library"
    path.write_bytes(b"x" * (4 << 20))
    mapped: list[mmap.mmap] = []

    def use(_: bytes) -> None:
        with path.open("rb") as file:
            mapped.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        assert mapped[-1].find(b"y") == -1

    before = pages("Rss")
    grown = growth(use, PLAIN, 1)
    assert pages("Rss") - before >= 4 << 20
    assert leaks(grown) == {}


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
    """Every attribute of the classes, called with all arguments, in a separate process."""
    finished = subprocesses.run_for(240, "-m", hostile_program.__name__)
    assert subprocesses.last_line(finished) > 100_000


def test_pickled_state_is_refused() -> None:
    """An extension class keeps its state in C and accepts none from a pickle."""
    for kind in CLASSES:
        assert not hasattr(kind, "__setstate__")
        assert not hasattr(kind, "__setstate_cython__")
