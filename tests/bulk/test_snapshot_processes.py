"""Snapshots that several threads and processes use: locks, forks, journals, and sudden ends."""

from __future__ import annotations

import copy
import itertools
import pickle
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lazyentity.snapshot import Snapshot, SnapshotError, readers
from tests.bulk.interrupting import raised_by
from tests.bulk.refreshing import COUNT, beside, entities_in, refresh_elsewhere, states
from tests.fuzz.points import Points
from tests.support import forks

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("use", [len, list, Snapshot.verify, Snapshot.information])
def test_an_iteration_beside_other_reads(path: Path, use: object) -> None:
    """Opening the file again leaves the lock of the iteration: it goes on in its state."""
    saved = Snapshot(path)
    entities = iter(saved)
    next(entities)
    use(saved)  # type: ignore[operator]  # any of the functions above
    refresh_elsewhere(path, "new")
    assert states(entities) == {"old": COUNT - 1}
    assert states(saved) == {"new": COUNT}
    refresh_elsewhere(path, "newer", 200)
    assert (states(saved), len(saved), saved.verify()) == ({"newer": 200}, 200, [])


def test_an_iteration_beside_a_refresh_of_its_own_process(path: Path) -> None:
    saved = Snapshot(path)
    entities = iter(saved)
    next(entities)
    saved.refresh(entities_in("own"))
    refresh_elsewhere(path, "new")
    saved.refresh(entities_in("own again", 200))
    assert states(entities) == {"old": COUNT - 1}
    assert (states(saved), saved.verify()) == ({"own again": 200}, [])


def test_threads_read_while_another_process_refreshes(path: Path) -> None:
    """Each reads by several connections; none sees half a state, nor a stale one in the end."""
    saved = Snapshot(path)
    problems: list[object] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            try:
                seen = states(saved)
                problems.extend([seen] if len(seen) != 1 else [])
                len(saved)
            except Exception as error:  # noqa: BLE001  # whatever it is, the test names it
                problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(4):
        refresh_elsewhere(path, f"turn {turn}")
    is_over.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert (states(saved), saved.verify()) == ({"turn 3": COUNT}, [])


_FORKED = (
    "import os, sys\n"
    "from pathlib import Path\n"
    "from lazyentity.snapshot import Snapshot, SnapshotError\n"
    "from tests.bulk.refreshing import COUNT, entities_in, refresh_elsewhere, states\n"
    "from tests.support import subprocesses\n"
    "def refused(read):\n"
    "    try: read()\n"
    "    except SnapshotError as error: assert 'fork' in str(error), error\n"
    "    else: raise AssertionError(read)\n"
    "saved = Snapshot(sys.argv[1])\n"
)


def _run_in_a_process(program: str, path: Path) -> None:
    program = f"{_FORKED}{program}print(1)\n"
    assert forks.answer("-c", program, str(path)) == 1


def test_a_process_that_is_forked_between_reads(path: Path) -> None:
    """Its locks are its own: it sees one state, and the next one, after its parent has ended."""
    _run_in_a_process(
        "len(saved)\n"
        "began, told = os.pipe(), os.pipe()\n"
        "if not os.fork():\n"
        "    if not os.fork():\n"
        "        os.read(began[0], 1)\n"
        "        entities = iter(saved)\n"
        "        next(entities)\n"
        "        refresh_elsewhere(saved.path, 'new', run=subprocesses.run)\n"
        "        seen = [states(entities), states(saved)]\n"
        "        refresh_elsewhere(saved.path, 'newer', run=subprocesses.run)\n"
        "        seen += [states(saved), saved.verify()]\n"
        "        os.write(told[1], repr(seen).encode())\n"
        "        os._exit(0)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "assert states(saved) == {'old': COUNT}\n"
        "saved.close()\n"
        "os.write(began[1], b'!')\n"
        "assert eval(os.read(told[0], 1000)) == [\n"
        "    {'old': COUNT - 1}, {'new': COUNT}, {'newer': COUNT}, []\n"
        "]\n",
        path,
    )


def test_a_process_that_is_forked_during_an_iteration(path: Path) -> None:
    """It refuses the file, of whose locks SQLite has a wrong record; its parent goes on."""
    _run_in_a_process(
        "entities = iter(saved)\n"
        "next(entities)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    refused(lambda: list(entities))\n"
        "    refused(lambda: len(saved))\n"
        "    refused(lambda: Snapshot(saved.path).refresh([]))\n"
        "    other = Snapshot(f'{saved.path}-2')\n"
        "    other.refresh(entities_in('other', 3))\n"
        "    assert len(list(other)) == len(other) == 3\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "refresh_elsewhere(saved.path, 'new', run=subprocesses.run)\n"
        "assert states(entities) == {'old': COUNT - 1}\n"
        "assert states(saved) == {'new': COUNT}\n",
        path,
    )


@pytest.mark.parametrize("replace", [False, True])
def test_a_process_that_is_forked_by_the_iterator_of_a_refresh(path: Path, replace: bool) -> None:
    """Only the process that began the refresh writes, whether the child goes on or fails.

    Only that process deletes the file of a replacement.
    """
    _run_in_a_process(
        "def forking(fails):\n"
        "    for number, entity in enumerate(entities_in('new')):\n"
        "        if number == COUNT // 2:\n"
        "            child = os.fork()\n"
        "            if child: assert os.waitpid(child, 0)[1] == 0\n"
        "            elif fails: raise ValueError\n"
        "        yield entity\n"
        "parent = os.getpid()\n"
        "for fails in False, True:\n"
        f"    try: saved.refresh(forking(fails), replace={replace})\n"
        "    except SnapshotError as error:\n"
        "        assert os.getpid() != parent and 'forked during' in str(error)\n"
        "        os._exit(0)\n"
        "    assert os.getpid() == parent\n"
        "    assert (states(saved), saved.verify()) == ({'new': COUNT}, [])\n",
        path,
    )
    assert beside(path) == []


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda saved: pickle.loads(pickle.dumps(saved))]
)
def test_copies(path: Path, duplicate: Callable[[Snapshot], Snapshot]) -> None:
    """They read the same file, whatever was read before, and survive forks as any other."""
    saved = Snapshot(path)
    states(saved)
    copied = duplicate(saved)
    assert states(copied) == {"old": COUNT}
    assert copied._readers in readers._all_readers.values()


def test_forks_while_another_thread_makes_snapshots(path: Path) -> None:
    _run_in_a_process(
        "import threading\n"
        # SQLite's module gives up the interpreter at each call, and would wait for it 5 ms.
        "sys.setswitchinterval(1e-4)\n"
        "is_over = threading.Event()\n"
        "def make():\n"
        "    while not is_over.is_set(): made = [Snapshot('other') for _ in range(2_000)]\n"
        "thread = threading.Thread(target=make)\n"
        "thread.start()\n"
        "ended = []\n"
        "for _ in range(40):\n"
        "    len(saved)\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        len(saved)\n"
        "        os._exit(0)\n"
        "    ended.append(os.waitpid(child, 0)[1])\n"
        "is_over.set()\n"
        "thread.join()\n"
        "assert ended == [0] * 40, ended\n",
        path,
    )


def test_the_file_is_whole_after_a_refresh_beside_an_idle_reader(
    path: Path, tmp_path: Path
) -> None:
    """Idle readers leave nothing in the journal: a copy of the file alone has the new state."""
    saved = Snapshot(path)
    assert len(saved) == COUNT
    refresh_elsewhere(path, "new")
    copied = tmp_path / "copy"
    # To open the file in this process would end its locks.
    copying = "import shutil, sys; shutil.copy(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", copying, path, copied], check=True)
    assert states(Snapshot(copied)) == {"new": COUNT}
    assert Path(f"{path}-wal").stat().st_size == 0
    assert states(saved) == {"new": COUNT}


def test_a_process_that_was_killed_while_it_made_the_file(path: Path) -> None:
    """SQLite has to roll back the first transaction; the file is empty until a refresh ends."""
    saved = Snapshot(path)
    entities = list(saved)
    saved.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        # The first transaction of a snapshot sets both, and did not end.
        connection.execute("PRAGMA application_id = 0")
        connection.execute("PRAGMA user_version = 0")
    journal = Path(f"{path}-journal")
    header = struct.pack(">8sIIIII", bytes.fromhex("d9d505f920a163d7"), 0, 1, 0, 512, 16384)
    journal.write_bytes(header.ljust(512, b"\0"))
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match="its first refresh has not ended"):
        list(saved)
    assert saved.refresh(entities).added == COUNT
    assert len(list(saved)) == COUNT
    assert not journal.exists()


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_refreshes(tmp_path: Path, kills: int) -> None:
    """A process that is killed at any moment leaves the old state or the new one, and no other."""
    counts = forks.answer("-m", "tests.bulk.crash_program", str(tmp_path), str(kills), "1")
    assert counts["old"] + counts["new"] + counts["nothing"] == kills


def test_each_point_of_a_refresh(path: Path) -> None:
    """The exception of a signal handler comes out as itself, and leaves the old state."""
    saved, error = Snapshot(path), KeyboardInterrupt()
    for at in itertools.count(1):
        points = Points(error, at, ("/lazyentity/snapshot/refreshing.py",))
        with points.traced():
            raised = raised_by(lambda: saved.refresh(entities_in("new", 2)))
        if not points.is_raised:
            break
        assert raised is error
        assert states(saved) == {"old": COUNT}
    assert raised is None
    assert states(saved) == {"new": 2}


def test_processes_that_make_one_file(tmp_path: Path) -> None:
    """They wait for each other, and the last one counts."""
    _run_in_a_process(
        "for turn in range(8):\n"
        "    saved = Snapshot(f'{sys.argv[1]}/{turn}')\n"
        "    children = []\n"
        "    for state in range(4):\n"
        "        children.append(os.fork())\n"
        "        if not children[-1]:\n"
        "            try: saved.refresh(entities_in(str(state), 60 - state))\n"
        "            except BaseException as error: print(error, file=sys.stderr); os._exit(1)\n"
        "            os._exit(0)\n"
        "    assert not any(os.waitpid(child, 0)[1] for child in children)\n"
        "    assert states(saved) in [{str(state): 60 - state} for state in range(4)]\n"
        "    assert saved.verify() == []\n",
        tmp_path,
    )


def test_other_processes_read_while_one_refreshes(path: Path) -> None:
    program = (
        f"{_FORKED}"
        "seen = {}\n"
        "while 'end' not in seen:\n"
        "    seen = states(saved)\n"
        "    assert len(seen) == 1, seen\n"
    )
    reader = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program, str(path)])
    saved = Snapshot(path)
    for state in (*map(str, range(20)), "end"):
        saved.refresh(entities_in(state))
    assert reader.wait(60) == 0


def _killed_during_an_iteration(path: Path) -> None:
    """Leave a journal with a state that is not in the file."""
    program = (
        f"{_FORKED}"
        "import signal\n"
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
