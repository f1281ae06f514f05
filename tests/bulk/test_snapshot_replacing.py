"""Writing a snapshot anew, after damage or not: atomic, for its owner, and for all readers."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from google.cloud.datastore.entity import Entity

from lazyentity.snapshot import Snapshot, SnapshotError
from tests.bulk.refreshing import COUNT, beside, entities_in, states
from tests.support import forks

pytestmark = pytest.mark.any_backend

_PAGE = 16_384


def _cut(path: Path) -> None:
    """Damage a file so much that SQLite does not open it."""
    os.truncate(path, 3 * _PAGE)


def _damage_a_page(path: Path) -> None:
    stored = bytearray(path.read_bytes())
    stored[3 * _PAGE : 4 * _PAGE] = b"\xff" * _PAGE
    path.write_bytes(stored)


def _no_damage(path: Path) -> None:
    """Leave a file as it is."""


any_damage = pytest.mark.parametrize(
    "damage", [_no_damage, _damage_a_page, _cut], ids=["sound", "page", "cut"]
)


def _damage(stored: bytearray, kind: int, chance: random.Random) -> bytes:
    at = chance.randrange(len(stored))
    page = at - at % _PAGE
    match kind:
        case 0:
            stored[at] ^= 1 << chance.randrange(8)
        case 1:
            stored[page : page + _PAGE] = chance.choice((b"\0", b"\xff")) * _PAGE
        case 2:
            stored[at : at + 2_000] = chance.randbytes(len(stored[at : at + 2_000]))
        case 3:
            return bytes(stored[: max(at, 2)])
        case _:
            # The head of the file.
            stored[at % 100] ^= 1 << chance.randrange(8)
    return bytes(stored)


@pytest.mark.parametrize("count", [50, pytest.param(300, marks=pytest.mark.slow)])
def test_damaged_files_are_cured(path: Path, count: int) -> None:
    """Whichever page, byte or end is lost."""
    chance = random.Random(count)
    sound = path.read_bytes()
    entities = entities_in("new")
    for number in range(count):
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        path.write_bytes(_damage(bytearray(sound), number % 5, chance))
        saved = Snapshot(path)
        assert saved.refresh(entities, replace=True).added == COUNT
        assert (states(saved), saved.verify()) == ({"new": COUNT}, [])
        assert saved.refresh(entities).unchanged == COUNT
        saved.close()
        assert beside(path) == []


@any_damage
def test_idle_readers(path: Path, damage: Callable[[Path], None]) -> None:
    """Readers in this process and in others see the new state, and what follows."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from lazyentity.snapshot import Snapshot\n"
        "from tests.bulk.refreshing import states\n"
        "saved = Snapshot(Path(sys.argv[1]))\n"
        "states(saved)\n"
        "for _ in range(3):\n"
        "    print('read', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    print(states(saved), flush=True)\n"
    )
    saved = Snapshot(path)
    assert states(saved) == {"old": COUNT}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "read\n"
        # From outside, as a disk would, and not by a descriptor of this process.
        damaging = f"from tests.bulk.test_snapshot_replacing import {damage.__name__} as damage"
        _run(f"{damaging}\nfrom pathlib import Path\nimport sys\ndamage(Path(sys.argv[1]))", path)
        for state, replace in (("new", True), ("newer", False), ("newest", True)):
            Snapshot(path).refresh(entities_in(state), replace=replace)
            assert states(saved) == {state: COUNT}
            other.stdin.write("\n")
            other.stdin.flush()
            assert other.stdout.readline() == f"{ {state: COUNT} }\n"
            other.stdout.readline()
    saved.close()
    assert Snapshot(path).verify() == []


def _run(program: str, path: Path) -> None:
    finished = forks.run("-c", program, str(path), warnings="ignore")
    assert finished.returncode == 0, finished.stderr


def test_an_iteration_goes_on_in_the_old_state(path: Path) -> None:
    saved = Snapshot(path)
    entities = iter(saved)
    next(entities)
    for state in ("new", "newer"):
        assert Snapshot(path).refresh(entities_in(state), replace=True).removed == COUNT
        assert states(saved) == {state: COUNT}
    assert states(entities) == {"old": COUNT - 1}
    assert (states(saved), saved.verify()) == ({"newer": COUNT}, [])


def test_an_iteration_of_a_file_that_is_swapped(path: Path) -> None:
    """It gives what it still finds of the old file, or an error; the new one is whole."""
    saved = Snapshot(path)
    entities = iter(saved)
    next(entities)
    _run("import os, sys; os.truncate(sys.argv[1], 49152)", path)
    Snapshot(path).refresh(entities_in("new"), replace=True)
    assert states(saved) == {"new": COUNT}
    with contextlib.suppress(SnapshotError):
        assert states(entities).keys() <= {"old"}
    for state in ("newer", "newest"):
        saved.refresh(entities_in(state))
        assert (states(saved), saved.verify()) == ({state: COUNT}, [])


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_made_for_their_owner(path: Path) -> None:
    """The file, SQLite's files beside it, and the new one that replaces it."""
    assert _mode(path) == 0o600
    modes: dict[str, int] = {}

    def watched() -> Iterator[Entity]:
        yield from entities_in("new")
        modes.update((other.name, _mode(other)) for other in path.parent.iterdir())

    saved = Snapshot(path)
    reading = iter(saved)
    next(reading)
    saved.refresh(watched(), replace=True)
    saved.refresh(watched())
    assert set(modes) == {f"snapshot{suffix}" for suffix in ("", "-wal", "-shm", "-lazyentity-new")}
    assert set(modes.values()) == {0o600}


@any_damage
def test_modes_are_kept(path: Path, damage: Callable[[Path], None]) -> None:
    path.chmod(0o640)
    damage(path)
    Snapshot(path).refresh(entities_in("new"), replace=True)
    assert _mode(path) == 0o640


def test_a_file_that_may_not_be_written(path: Path) -> None:
    """It is not swapped either, though its folder may be written."""
    program = (
        "import os, sys\n"
        "from lazyentity.snapshot import Snapshot, SnapshotError\n"
        "from tests.bulk.refreshing import entities_in\n"
        # Root may write everywhere.
        "os.geteuid() or os.setuid(65534)\n"
        "try: Snapshot(sys.argv[1]).refresh(entities_in('new'), replace=True)\n"
        "except SnapshotError: print(1)\n"
    )
    _cut(path)
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(shutil.copy(path, folder))
        Path(folder).chmod(0o777)
        copied.chmod(0o444)
        before = copied.read_bytes()
        assert forks.answer("-c", program, str(copied)) == 1
        assert copied.read_bytes() == before


@any_damage
def test_a_replacement_that_fails(path: Path, damage: Callable[[Path], None]) -> None:
    """It leaves the old file as it is, and no other."""

    def broken() -> Iterator[Entity]:
        yield from entities_in("new")
        raise OSError("no more entities")

    damage(path)
    before = path.read_bytes()
    with pytest.raises(OSError, match="no more entities"):
        Snapshot(path).refresh(broken(), replace=True)
    with pytest.raises(SnapshotError, match="the query gave no entity"):
        Snapshot(path).refresh([], replace=True)
    assert path.read_bytes() == before
    assert beside(path) == []


def test_a_replacement_that_was_killed(path: Path) -> None:
    """The next one deletes the file that it left, whatever is in that."""
    program = (
        "import os, signal, sys\n"
        "from lazyentity.snapshot import Snapshot\n"
        "from tests.bulk.refreshing import entities_in\n"
        "def given():\n"
        "    yield from entities_in('new', 20_000)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "Snapshot(sys.argv[1]).refresh(given(), replace=True)\n"
    )
    killed = forks.run("-c", program, str(path), warnings="ignore")
    assert killed.returncode == -signal.SIGKILL
    (left,) = beside(path)
    saved = Snapshot(path)
    assert (states(saved), saved.verify()) == ({"old": COUNT}, [])
    for content in (None, b"any", b"SQLite format 3\0" + b"\xff" * 50_000):
        if content is not None:
            path.with_name(left).write_bytes(content)
        saved.refresh(entities_in("newer"), replace=True)
        assert (states(saved), beside(path)) == ({"newer": COUNT}, [])


def test_replacements_wait_for_each_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazyentity.snapshot.connections._BUSY_SECONDS", 0.1)
    saved = Snapshot(path)

    def given(state: str, *others: bool) -> Iterator[Entity]:
        yield from entities_in(state)
        for replace in others:
            with pytest.raises(SnapshotError, match="by another refresh; try again"):
                Snapshot(path).refresh(entities_in("other"), replace=replace)

    saved.refresh(given("new", True), replace=True)
    assert states(saved) == {"new": COUNT}
    saved.refresh(given("newer", False, True))
    assert (states(saved), beside(path)) == ({"newer": COUNT}, [])


def test_a_head_that_is_lost(path: Path) -> None:
    """The settings tell that it is a snapshot; without them, it could be any file."""
    stored = bytearray(path.read_bytes())
    stored[:_PAGE] = bytes(_PAGE)
    path.write_bytes(stored)
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match="not a SQLite database"):
        saved.refresh(entities_in("new"))
    saved.refresh(entities_in("new"), replace=True)
    assert states(saved) == {"new": COUNT}
    saved.close()
    path.write_bytes(bytes(len(stored)))
    with pytest.raises(SnapshotError, match="so damaged that nothing shows it; if it is one"):
        saved.refresh(entities_in("new"), replace=True)
    assert path.read_bytes() == bytes(len(stored))


def test_the_head_is_read_without_ending_locks(path: Path) -> None:
    """Closing any descriptor of a file would end the locks of this process."""
    saved = Snapshot(path)
    entities = iter(saved)
    next(entities)
    _run("import sys; open(sys.argv[1], 'r+b').write(bytes(16))", path)
    with pytest.raises(SnapshotError):
        Snapshot(path).refresh([], replace=True)
    program = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'r+b')\n"
        # The bytes of shared locks: https://www.sqlite.org/src/file?name=src/os.h.
        "try: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000000 + 2)\n"
        "except OSError: print(1)\n"
        "else: print(0)\n"
    )
    assert forks.answer("-c", program, str(path)) == 1
    del entities
