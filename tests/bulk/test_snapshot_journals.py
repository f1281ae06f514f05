"""Journals beside a snapshot: its own, and those of a file that had its path before."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lazyentity.snapshot import Snapshot, SnapshotError
from tests.bulk.refreshing import COUNT, entities_in, states
from tests.support import forks

pytestmark = pytest.mark.any_backend


def _killed_during_an_iteration(path: Path) -> None:
    """Leave a journal with a state that is not in the file."""
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from lazyentity.snapshot import Snapshot\n"
        "from tests.bulk.refreshing import entities_in, refresh_elsewhere\n"
        "saved = Snapshot(sys.argv[1])\n"
        "entities = iter(saved)\n"
        "next(entities)\n"
        "for state in 'newer', 'newest': saved.refresh(entities_in(state))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = forks.run("-c", program, str(path), warnings="ignore")
    assert killed.returncode == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size


def test_a_journal_of_its_own(path: Path) -> None:
    """A process that was killed left it; the file and the journal together are the new state."""
    _killed_during_an_iteration(path)
    saved = Snapshot(path)
    assert (states(saved), saved.verify()) == ({"newest": COUNT}, [])
    assert saved.refresh(entities_in("newest")).unchanged == COUNT


def _another_snapshot(path: Path) -> bytes:
    other = path.with_name("other")
    with Snapshot(other) as saved:
        saved.refresh(entities_in("another"))
    return other.read_bytes()


def _older_copy(path: Path) -> bytes:
    copied = path.read_bytes()
    Snapshot(path).refresh(entities_in("middle"))
    return copied


@pytest.mark.parametrize("restored", [_another_snapshot, _older_copy])
def test_a_journal_of_a_file_that_was_replaced(
    path: Path, restored: Callable[[Path], bytes]
) -> None:
    """SQLite would apply it to the other file; it is noticed, and the file stays as it is."""
    content = restored(path)
    _killed_during_an_iteration(path)
    path.unlink()
    path.write_bytes(content)
    saved = Snapshot(path)
    uses: list[Callable[[], Any]] = [
        lambda: list(saved),
        lambda: len(saved),
        saved.verify,
        lambda: saved.refresh(entities_in("new")),
    ]
    for use in uses:
        with pytest.raises(SnapshotError, match="which was replaced by another file"):
            use()
    assert path.read_bytes() == content
    saved.refresh(entities_in("new"), replace=True)
    assert (states(saved), saved.verify()) == ({"new": COUNT}, [])


def test_many_refreshes_beside_an_iteration(path: Path) -> None:
    """The journal is the file's own, however many states it holds."""
    saved = Snapshot(path)
    entities = iter(saved)
    next(entities)
    for number in range(130):
        Snapshot(path).refresh(entities_in(f"state {number % 2}", 3))
        assert len(Snapshot(path)) == 3
    assert states(entities) == {"old": COUNT - 1}
