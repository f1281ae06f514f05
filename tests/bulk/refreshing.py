"""Snapshots that tell their states apart, or are of version 1, damage, and processes that refresh.

Run as ``python -m tests.bulk.refreshing PATH STATE COUNT``, it refreshes a snapshot, and ends.
"""

from __future__ import annotations

import collections
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Snapshot
from tests.support import forks

COUNT = 300
"""Entities of a snapshot: several times as many as a reader takes from SQLite at once."""


def entities_in(state: str, count: int = COUNT) -> list[Entity]:
    """Return entities that name a state."""
    made = [Entity(Key("Item", number + 1, project="p")) for number in range(count)]
    for entity in made:
        entity["state"] = state
        entity["text"] = f"the text of entity {entity.key.id} in the state {state}"
    return made


def states(entities: Iterable[Entity]) -> dict[str, int]:
    """Count the entities of each state."""
    return dict(collections.Counter(entity["state"] for entity in entities))


def change(path: Path, *statements: str) -> None:
    """Run statements on the database of a snapshot."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def make_version_1(path: Path) -> None:
    """Turn a snapshot into one that version 1 wrote of the same entities.

    It had no checksums and no links.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            "BEGIN;"
            "ALTER TABLE settings RENAME TO old_settings;"
            "ALTER TABLE entities RENAME TO old_entities;"
            "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE entities (key BLOB PRIMARY KEY, content INTEGER NOT NULL) WITHOUT ROWID;"
            "INSERT INTO settings SELECT name, CAST(value AS TEXT) FROM old_settings "
            "WHERE name IN ('digest', 'entities', 'refreshed', 'source');"
            "INSERT INTO entities SELECT key, content FROM old_entities;"
            "DROP TABLE old_settings;"
            "DROP TABLE old_entities;"
            "PRAGMA user_version = 1;"
            "COMMIT;"
            "VACUUM;"
        )


def read_all(entities: Iterator[Entity]) -> tuple[list[Entity], list[CorruptEntity]]:
    """Return the sound entities of an iteration, and the errors of the others."""
    read, errors = [], []
    while True:
        try:
            read.append(next(entities))
        except CorruptEntity as error:
            errors.append(error)
        except StopIteration:
            return read, errors


def refresh_elsewhere(
    path: Path,
    state: str,
    count: int = COUNT,
    run: Callable[..., subprocess.CompletedProcess[str]] = forks.run,
) -> None:
    """Refresh in another process, which ends, and so closes the file for itself.

    Args:
        path: of the snapshot.
        state: the new one of all entities.
        count: how many there are then.
        run: starts the process.
    """
    finished = run("-m", __name__, str(path), state, str(count))
    assert finished.returncode == 0, finished.stderr


def beside(path: Path) -> list[str]:
    """Return the names of files beside a snapshot, without SQLite's files."""
    others = sorted(other.name for other in path.parent.iterdir() if other != path)
    return [name for name in others if name not in (f"{path.name}-wal", f"{path.name}-shm")]


if __name__ == "__main__":
    Snapshot(sys.argv[1]).refresh(entities_in(sys.argv[2], int(sys.argv[3])))
