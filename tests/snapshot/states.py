"""Snapshots that tell their states apart, and damage."""

from __future__ import annotations

import collections
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity

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
