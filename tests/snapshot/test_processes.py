"""Snapshots that several processes use: forks, replacements, sudden ends, and signals."""

from __future__ import annotations

from pathlib import Path

from tests.support import forks

_BEGIN = (
    "import os, sys\n"
    "from lazyentity.snapshot import Snapshot\n"
    "from tests.snapshot.states import COUNT, entities_in, states\n"
    "saved = Snapshot(sys.argv[1])\n"
)


def _run_in_a_process(program: str, path: Path) -> None:
    assert forks.answer("-c", f"{_BEGIN}{program}print(1)\n", str(path)) == 1


def test_a_process_that_is_forked_during_an_iteration(path: Path) -> None:
    """Both go on in the old state; what they open later is the new one."""
    _run_in_a_process(
        "entities = iter(saved)\n"
        "next(entities)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    assert states(entities) == {'old': COUNT - 1}\n"
        "    Snapshot(sys.argv[1]).refresh(entities_in('new'))\n"
        "    assert states(saved) == {'new': COUNT}\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert states(entities) == {'old': COUNT - 1}\n"
        "assert states(saved) == {'old': COUNT}\n"
        "saved.close()\n"
        "assert states(saved) == {'new': COUNT}\n",
        path,
    )


def test_processes_that_write_one_file(tmp_path: Path) -> None:
    """The last one counts, as a whole."""
    path = tmp_path / "snapshot"
    _run_in_a_process(
        "children = []\n"
        "for state in range(4):\n"
        "    children.append(os.fork())\n"
        "    if not children[-1]:\n"
        "        for _ in range(5): saved.refresh(entities_in(str(state), 60 - state))\n"
        "        os._exit(0)\n"
        "assert not any(os.waitpid(child, 0)[1] for child in children)\n"
        "assert states(saved) in [{str(state): 60 - state} for state in range(4)]\n"
        "assert saved.verify() == []\n",
        path,
    )
    assert list(tmp_path.iterdir()) == [path]
