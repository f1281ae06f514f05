"""Damaged snapshots: each read gives what was stored or the snapshot's own error, and none else.

A case is a snapshot with some damages: of pages, bytes, rows and cells. All ways to read it are
tried, and then it is written anew.

    python -m tests.fuzz.snapshots --seconds 30
"""

from __future__ import annotations

import contextlib
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
from tests.fuzz import running

_ENTITIES = 150
_MOST_DAMAGES = 3
_PAGE = 16_384
_COLUMNS = {
    "information": ("text", "dictionary", "checksum"),
    "contents": ("number", "hash", "data"),
    "entities": ("key", "content", "checksum"),
}
_HOSTILE = (
    *(0, 1, -1, 2**31, 2**63 - 1, 1e400, -1.5, "", "text", b"", b"\xff\xfe", b"[" * 100_000),
    *(b'"2024"', b"1e400", b"-1", b"9" * 5_000, b"null", b"[]", b"\x28\xb5\x2f\xfd" + b"\xff" * 20),
)


@dataclass(frozen=True)
class Case:
    """A snapshot and its damages, in their order, each with the seed of its choices."""

    damages: tuple[tuple[Callable[[Path, random.Random], None], int], ...]

    def __str__(self) -> str:
        lines = (f"  {damage.__name__} {seed}" for damage, seed in self.damages)
        return "\n".join(lines)


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
def _sound() -> Path:
    path = Path(_folder().name, "sound")
    Snapshot(path).refresh(_entities())
    return path


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
        "UPDATE information SET dictionary = x''",
        "DELETE FROM entities",
        f"DROP TABLE {chance.choice(list(_COLUMNS))}",
        "CREATE VIEW another AS SELECT 1",
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


_DAMAGES = (_flip, _burst, _cut, _page, _row, _cell)


def made(seed: int, number: int) -> Case:
    """Make a case."""
    chance = running.chance_of(seed, number)
    count = chance.randint(1, _MOST_DAMAGES)
    damages = tuple((chance.choice(_DAMAGES), chance.getrandbits(32)) for _ in range(count))
    return Case(damages)


def check(case: Case) -> None:
    """Read a damaged snapshot in all ways, and then write it anew.

    Raises:
        AssertionError: a read gave other data than was stored, or the file was not made whole.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(_sound(), folder))
        for damage, seed in case.damages:
            damage(path, random.Random(seed))
        for read in _READS:
            with contextlib.suppress(SnapshotError):
                read(Snapshot(path))
        _repair(path)


def _read_one(saved: Snapshot) -> None:
    expected = _expected()
    for number in (1, 2, 3, 75, _ENTITIES - 1, _ENTITIES):
        try:
            entity = saved[_key(number)]
        except SnapshotError:
            continue
        except KeyError:
            # Its key is damaged, which verify() finds.
            assert saved.verify() != []
            continue
        assert entity.key == _key(number)
        assert dict(entity) == expected[entity.key]


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
    _read_all,
    lambda saved: _require(len(set(saved.keys())) == _ENTITIES),
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
        saved.refresh(_entities())
    except SnapshotError as error:
        # Several damages can leave no trace of a snapshot, or the marks of another file.
        if not any(text in str(error) for text in ("is not a snapshot", "has version")):
            raise
        assert path.read_bytes() == before
        return
    assert saved.verify() == []
    assert {entity.key: dict(entity) for entity in saved} == _expected()
    assert list(path.parent.iterdir()) == [path]


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
