"""Damaged snapshots: each read gives what was stored or the snapshot's own error, and none else.

A case is a snapshot with some damages: of pages, bytes, rows and cells, and a journal that is not
its own. All ways to read it are tried, and then ``refresh(entities, replace=True)``, which has to
make it whole again.

    python -m tests.fuzz.snapshots --seconds 30
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Snapshot, SnapshotError
from tests.bulk.refreshing import make_version_1
from tests.fuzz import running

_ENTITIES = 150
_MOST_DAMAGES = 3
_PAGE = 16_384
_COLUMNS = {
    "settings": ("name", "value", "checksum"),
    "dictionaries": ("number", "data"),
    "contents": ("number", "hash", "dictionary", "data"),
    "entities": ("key", "content", "checksum", "successor"),
}
_HOSTILE = (
    *(0, 1, -1, 2**31, 2**63 - 1, 1e400, -1.5, "", "text", b"", b"\xff\xfe", b"[" * 100_000),
    *(b'"2024"', b"1e400", b"-1", b"9" * 5_000, b"null", b"[]", b"\x28\xb5\x2f\xfd" + b"\xff" * 20),
)


@dataclass(frozen=True)
class Case:
    """A snapshot and its damages, in their order, each with the seed of its choices."""

    version: int
    damages: tuple[tuple[Callable[[Path, random.Random], None], int], ...]

    def __str__(self) -> str:
        lines = (f"  {damage.__name__} {seed}" for damage, seed in self.damages)
        return "\n".join((f"version {self.version}", *lines))


def _key(number: int) -> Key:
    return Key("Item", number, project="p")


def _entities() -> Iterator[Entity]:
    for number in range(1, _ENTITIES + 1):
        entity = Entity(_key(number))
        # Of three entities, two share their content.
        entity["number"] = number - (number % 3 == 0)
        entity["text"] = f"the text of entity {entity['number']}" * (1 + number % 7)
        yield entity


@cache
def _expected() -> dict[Key, dict[str, Any]]:
    return {entity.key: dict(entity) for entity in _entities()}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def _sound(version: int) -> Path:
    path = Path(_folder().name, f"version-{version}")
    with Snapshot(path) as saved:
        saved.refresh(_entities())
    if version == 1:
        make_version_1(path)
    return path


@cache
def _journal() -> bytes:
    """Return the journal of another snapshot, with all of its pages."""
    path = Path(_folder().name, "other")
    with Snapshot(path) as saved:
        saved.refresh(_entities())
        reading = iter(saved)
        next(reading)
        # The reader of the old state keeps this one from the file.
        saved.refresh([entity for entity in _entities() if entity.key.id % 2])
        return Path(f"{path}-wal").read_bytes()


def _flip(path: Path, chance: random.Random) -> None:
    stored = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 5))):
        stored[chance.randrange(len(stored))] ^= 1 << chance.randrange(8)
    path.write_bytes(stored)


def _burst(path: Path, chance: random.Random) -> None:
    stored = bytearray(path.read_bytes())
    at, size = chance.randrange(len(stored)), chance.randint(1, 500)
    stored[at : at + size] = chance.randbytes(len(stored[at : at + size]))
    path.write_bytes(stored)


def _cut(path: Path, chance: random.Random) -> None:
    stored = path.read_bytes()
    path.write_bytes(stored[: chance.randrange(2, max(len(stored), 3))])


def _page(path: Path, chance: random.Random) -> None:
    stored = bytearray(path.read_bytes())
    first, second = (chance.randrange(0, max(len(stored), 1), _PAGE) for _ in range(2))
    pages = [bytes(stored[at : at + _PAGE]) for at in (first, second)]
    written = (b"\0" * _PAGE, b"\xff" * _PAGE, chance.randbytes(_PAGE), pages[1])
    if chance.random() < 0.3:
        stored[second : second + _PAGE] = pages[0]
    stored[first : first + _PAGE] = chance.choice(written)
    path.write_bytes(stored)


def _execute(path: Path, statement: str, *values: Any) -> None:
    # An earlier damage can have left nothing to change.
    try:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement, values)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        pass


def _row(path: Path, chance: random.Random) -> None:
    any_row = "(SELECT {0} FROM {1} ORDER BY {0} LIMIT 1 OFFSET {2})"
    content = any_row.format("number", "contents", chance.randrange(90))
    key = any_row.format("key", "entities", chance.randrange(_ENTITIES))
    other = any_row.format("key", "entities", chance.randrange(_ENTITIES))
    statements = (
        f"DELETE FROM entities WHERE key = {key}",  # of constants, as all below
        f"DELETE FROM entities WHERE key < {key}",
        f"DELETE FROM contents WHERE number = {content}",
        f"UPDATE OR REPLACE entities SET key = {other} WHERE key = {key}",
        f"UPDATE entities SET content = {content} WHERE key = {key}",
        f"UPDATE contents SET data = (SELECT data FROM contents WHERE number = {content})",
        "UPDATE entities SET content = content % 10 + 1",
        "UPDATE OR REPLACE contents SET number = number + 1",
        "DELETE FROM dictionaries",
        "DELETE FROM settings WHERE rowid = 1",
        "DELETE FROM entities",
        f"DROP TABLE {chance.choice(list(_COLUMNS))}",
        f"UPDATE sqlite_sequence SET seq = {chance.randrange(99)}",
    )
    _execute(path, chance.choice(statements))


def _cell(path: Path, chance: random.Random) -> None:
    table = chance.choice(list(_COLUMNS))
    column = chance.choice(_COLUMNS[table])
    keyed = _COLUMNS[table][0]
    _execute(
        path,
        f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {keyed} = "
        f"(SELECT {keyed} FROM {table} ORDER BY {keyed} LIMIT 1 OFFSET ?)",
        chance.choice(_HOSTILE),
        chance.randrange(chance.choice((1, 8, _ENTITIES))),
    )


def _foreign_journal(path: Path, chance: random.Random) -> None:
    journal = bytearray(_journal())
    if chance.random() < 0.5:
        journal[chance.randrange(len(journal))] ^= 1 << chance.randrange(8)
    Path(f"{path}-wal").write_bytes(journal)


_DAMAGES = (_flip, _burst, _cut, _page, _row, _cell)


def made(seed: int, number: int) -> Case:
    """Make a case."""
    chance = running.chance_of(seed, number)
    if chance.random() < 0.1:
        # Alone: beside a damaged file, or applied by another program, nothing tells that it is.
        return Case(2, ((_foreign_journal, chance.getrandbits(32)),))
    count = chance.randint(1, _MOST_DAMAGES)
    damages = tuple((chance.choice(_DAMAGES), chance.getrandbits(32)) for _ in range(count))
    return Case(chance.choice((1, 2, 2, 2)), damages)


def check(case: Case) -> None:
    """Read a damaged snapshot in all ways, and then write it anew.

    Raises:
        AssertionError: a read gave other data than was stored, or the file was not made whole.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(_sound(case.version), folder))
        for damage, seed in case.damages:
            damage(path, random.Random(seed))
        # Version 1 proves less: there, damage may show later, or not at all.
        for read in _READS:
            try:
                with Snapshot(path) as saved:
                    read(saved)
            except SnapshotError:
                pass
            except AssertionError:
                if case.version > 1:
                    raise
        _repair(path)


def _read_one(saved: Snapshot) -> None:
    expected = _expected()
    for number in (1, 2, 3, 75, _ENTITIES - 1, _ENTITIES):
        try:
            entity = saved[_key(number)]
        except SnapshotError:
            continue
        except KeyError:
            raise AssertionError(f"{number} is missing") from None
        assert entity.key == _key(number)
        assert dict(entity) == expected[entity.key]


def _read_absent(saved: Snapshot) -> None:
    assert saved.get_many([_key(_ENTITIES + 9)]) == [None]


def _read_all(saved: Snapshot) -> None:
    expected = _expected()
    seen: list[Key] = []
    is_damaged = False
    entities = iter(saved)
    while True:
        try:
            entity = next(entities)
        except CorruptEntity:
            is_damaged = True
            continue
        except StopIteration:
            break
        seen.append(entity.key)
        assert dict(entity) == expected[entity.key]
    assert len(set(seen)) == len(seen) or is_damaged
    assert set(seen) == set(expected) or is_damaged


_READS: tuple[Callable[[Snapshot], None], ...] = (
    _read_one,
    _read_absent,
    _read_all,
    lambda saved: _require(_key(7) in saved and _key(_ENTITIES + 7) not in saved),
    lambda saved: _require(set(saved.keys()) == set(_expected())),
    lambda saved: _require(len(saved) == _ENTITIES),
    lambda saved: _require(saved.information().entities == _ENTITIES),
    lambda saved: _require(isinstance(saved.verify(), list)),
)


def _require(held: bool) -> None:
    assert held


def _repair(path: Path) -> None:
    before = path.read_bytes()
    saved = Snapshot(path)
    try:
        saved.refresh(_entities(), replace=True)
    except SnapshotError as error:
        # Several damages can leave no trace of a snapshot, or the marks of another file.
        if not any(text in str(error) for text in ("is not a snapshot", "has version")):
            raise
        assert path.read_bytes() == before
        return
    assert saved.verify() == []
    assert {entity.key: dict(entity) for entity in saved} == _expected()
    saved.close()
    assert {file.name for file in path.parent.iterdir()} <= {
        f"{path.name}{suffix}" for suffix in ("", "-wal", "-shm")
    }


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case with fewer damages that fails as well."""
    for damage in case.damages:
        fewer = replace(case, damages=tuple(other for other in case.damages if other != damage))
        if fewer.damages and fails(fewer):
            return smallest(fewer, fails)
    return case


main = running.Fuzzer(
    "python -m tests.fuzz.snapshots", made, check, lambda _case, _done: None, smallest
).command("Fuzz with damaged snapshots.")


if __name__ == "__main__":
    main()
