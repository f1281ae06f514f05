"""Kills a process that refreshes a snapshot, again and again, and checks what is left.

Run as ``python -m tests.snapshot.crash_program FOLDER KILLS SEED``. Goes on until that many
processes were killed. Prints how often the old state was left, how often the new one and how often
nothing (of a new file), and how many processes were done before they could be killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import Snapshot, SnapshotError

ENTITIES = 60


def entities(state: int) -> Iterator[Entity]:
    """Yield the entities of a state: of the keys some, of the contents most differ in each."""
    for number in range(1 + state % 5, ENTITIES):
        entity = Entity(Key("Item", number, project="p"))
        entity["text"] = f"state {state if number % 4 else 'any'}, entity {number}"
        yield entity


def contents(snapshot: Snapshot) -> dict[int, str]:
    """Return all that can be read."""
    return {entity.key.id: entity["text"] for entity in snapshot}


def expected(state: int) -> dict[int, str]:
    """Return all that there is to read in a state."""
    return {entity.key.id: entity["text"] for entity in entities(state)}


def refresh_and_die(path: Path, state: int, seconds: float) -> bool:
    """Refresh to a state in another process, and kill that; return whether it was killed.

    Raises:
        AssertionError: the refresh failed.
    """
    child = os.fork()
    if child == 0:
        try:
            Snapshot(path).refresh(entities(state))
        except BaseException:  # noqa: BLE001  # the parent fails by the status
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    time.sleep(seconds)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0
    return os.WIFSIGNALED(status)


def main(folder: str, kills: int, seed: int) -> dict[str, int]:
    """Kill processes at random points, those that make a new file among them."""
    random.seed(seed)
    path = Path(folder, "snapshot")
    counts = {"old": 0, "new": 0, "done": 0, "nothing": 0}
    began = time.monotonic()
    Snapshot(Path(folder, "measured")).refresh(entities(1))
    seconds = 1.3 * (time.monotonic() - began)
    old = -1
    state = -1
    while sum(counts.values()) - counts["done"] < kills:
        state += 1
        if state % 10 == 0:
            # The first refresh of a file, which leaves nothing or all.
            path = Path(folder, f"snapshot {state}")
            old = -1
        was_killed = refresh_and_die(path, state, random.uniform(0, seconds))
        # However busy the machine is, about half of the processes are killed.
        seconds *= 1.05 if was_killed else 0.9
        snapshot = Snapshot(path)
        try:
            left = contents(snapshot)
            assert snapshot.verify() == []
            assert len(snapshot) == len(left)
        except SnapshotError:
            assert was_killed
            assert old < 0
            counts["nothing"] += 1
            continue
        if left == expected(state):
            counts["new" if was_killed else "done"] += 1
            old = state
        else:
            assert was_killed
            assert left == expected(old)
            counts["old"] += 1
    return counts


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201
