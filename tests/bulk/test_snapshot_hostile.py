"""Files that are damaged in parts, or made to run something, and arguments that are none."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Snapshot, SnapshotError
from lazyentity.snapshot.command import main
from lazyentity.snapshot.payloads import stored_key
from tests.bulk.earlier import make_version_1

pytestmark = pytest.mark.any_backend

_COUNT = 2_000
_PAGE = 16_384


def _key(number: int) -> Key:
    return Key("Item", number, project="p")


@pytest.fixture(scope="module")
def _sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "snapshot"
    entities = [Entity(_key(number)) for number in range(1, _COUNT + 1)]
    for entity in entities:
        # Contents that do not compress: they fill many pages.
        entity["data"] = (str(entity.key.id) * 300).encode()
        entity["noise"] = bytes((entity.key.id * at) % 251 for at in range(120))
    with Snapshot(path) as saved:
        saved.refresh(entities)
    return path


@pytest.fixture
def path(_sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(_sound, tmp_path))


def _change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _read(saved: Snapshot) -> tuple[list[int], list[Any]]:
    """Iterate all; return the ids that were read, and the keys of the damaged ones."""
    read, damaged = [], []
    entities = iter(saved)
    while True:
        try:
            read.append(next(entities).key.id)
        except CorruptEntity as error:
            damaged.append(error.key)
        except StopIteration:
            return read, damaged


def test_a_damaged_page_of_contents(path: Path) -> None:
    """It takes its own entities along, which are named, and no others."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'contents'")
        ((root,),) = rows
    stored = bytearray(path.read_bytes())
    # A leaf in the middle of the table, which begins with the number of its kind.
    leaves = [
        at
        for at in range(0, len(stored), _PAGE)
        if stored[at] == 13 and at // _PAGE + 1 != root and at > len(stored) // 3
    ]
    stored[leaves[0] : leaves[0] + _PAGE] = b"\xff" * _PAGE
    path.write_bytes(stored)
    saved = Snapshot(path)
    read, damaged = _read(saved)
    assert 0 < len(damaged) < _COUNT / 4
    assert sorted([*read, *(key.id for key in damaged)]) == list(range(1, _COUNT + 1))
    for key in damaged:
        with pytest.raises(CorruptEntity):
            saved[key]
    found = saved.verify()
    assert [error.key for error in found if isinstance(error, CorruptEntity)] == damaged
    assert len(found) > len(damaged)
    outcome = CliRunner().invoke(main, ["verify", str(path)])
    assert outcome.exit_code == 1
    assert repr(damaged[0]) in outcome.output


@pytest.mark.parametrize("column", ["data", "dictionary"])
def test_a_column_of_another_type(path: Path, column: str) -> None:
    # As a flipped bit in the header of a row makes it; the bytes are no UTF-8.
    _change(path, f"UPDATE contents SET {column} = CAST(x'fffe' AS TEXT) WHERE number = 7")
    saved = Snapshot(path)
    read, damaged = _read(saved)
    assert (len(read), len(damaged)) == (_COUNT - 1, 1)
    assert [getattr(error, "key", None) for error in saved.verify()] == damaged


@pytest.mark.parametrize("value", ["CAST('text' AS TEXT)", "5", "2.5", "x'00'"])
def test_a_key_of_another_type(path: Path, value: str) -> None:
    """The bytes of its column, or their text, stand for the key."""
    stored = stored_key(_key(7)).hex()
    _change(path, f"UPDATE entities SET key = {value} WHERE key = x'{stored}'")
    saved = Snapshot(path)
    read, damaged = _read(saved)
    assert (len(read), len(damaged)) == (_COUNT - 1, 1)
    assert isinstance(damaged[0], bytes)
    assert [getattr(error, "key", None) for error in saved.verify()] == damaged
    with pytest.raises(CorruptEntity):
        list(saved.keys())
    with pytest.raises(SnapshotError, match="some of its keys are damaged"):
        saved.get_many([_key(7)])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("damage", "number"),
    [
        (
            f"UPDATE entities SET key = x'{stored_key(_key(_COUNT + 7)).hex()}' "
            f"WHERE key = x'{stored_key(_key(7)).hex()}'",
            _COUNT + 7,
        ),
        ("UPDATE entities SET content = 8 WHERE content = 7", 7),
        (f"DELETE FROM entities WHERE key = x'{stored_key(_key(7)).hex()}'", None),
    ],
    ids=["key", "content", "missing"],
)
def test_rows_that_were_not_written_so(
    path: Path, damage: str, number: int | None, version: int
) -> None:
    """verify() finds keys and contents that are sound, and do not belong together."""
    if version == 1:
        make_version_1(path)
    assert Snapshot(path).verify() == []
    _change(path, damage)
    (found,) = Snapshot(path).verify()
    if version == 2 and number is not None:
        assert isinstance(found, CorruptEntity)
        assert found.key == _key(number)
        return
    assert "are not those that were written" in str(found)
    assert str(path) in str(found)


def test_a_snapshot_of_an_earlier_version_has_no_digest(path: Path) -> None:
    make_version_1(path)
    _change(path, "DELETE FROM settings WHERE name = 'digest'")
    assert Snapshot(path).verify() == []


@pytest.mark.parametrize("value", ["x'fffe'", "CAST(x'fffe' AS TEXT)", "'{'", "'[]'", "'null'"])
@pytest.mark.parametrize("name", ["entities", "refreshed"])
def test_damaged_settings(path: Path, name: str, value: str) -> None:
    """They are named; entities can be read."""
    _change(path, f"UPDATE settings SET value = {value} WHERE name = '{name}'")
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match=f"setting '{name}' is missing or damaged"):
        saved.information()
    assert saved[_key(1)].key == _key(1)


def test_a_damaged_digest(path: Path) -> None:
    _change(path, "UPDATE settings SET value = '{' WHERE name = 'digest'")
    (found,) = Snapshot(path).verify()
    assert "setting 'digest' is missing or damaged" in str(found)


def test_a_damaged_page_of_keys(path: Path) -> None:
    """The entities on it cannot be named; verify() says that the file is damaged."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entities'")
        ((root,),) = rows
    stored = bytearray(path.read_bytes())
    # Leaves of a table without a rowid are those of an index; the hashes have some, too.
    key = stored_key(_key(_COUNT // 3))
    (leaf,) = {
        at
        for at in range(0, len(stored), _PAGE)
        if stored[at] == 10 and key in stored[at : at + _PAGE] and at // _PAGE + 1 != root
    }
    stored[leaf : leaf + 8] = b"\xff" * 8
    path.write_bytes(stored)
    found = Snapshot(path).verify()
    assert found
    assert all(str(path) in str(error) for error in found)
    with pytest.raises(SnapshotError, match="malformed"):
        list(Snapshot(path))


@pytest.mark.parametrize(
    "data", ["x'37a430ecfffe12345678'", "5", "CAST(x'37a430ecfffe12345678' AS TEXT)"]
)
def test_a_damaged_dictionary(path: Path, data: str) -> None:
    """Its entities are damaged, and no others; keys and their number can be read."""
    saved = Snapshot(path)
    _change(path, f"INSERT INTO dictionaries VALUES (99, {data})")
    assert _read(saved) == ([entity.key.id for entity in saved], [])
    with pytest.raises(SnapshotError, match=r"dictionary 99 is damaged.*replace=True"):
        saved.refresh([Entity(_key(1))])
    _change(path, f"UPDATE dictionaries SET data = {data}")
    saved = Snapshot(path)
    read, damaged = _read(saved)
    assert (read, len(damaged)) == ([], _COUNT)
    assert len(saved) == len(list(saved.keys())) == _COUNT
    assert len(saved.verify()) == _COUNT
    assert saved.refresh([Entity(_key(1))], replace=True).added == 1
    assert saved.verify() == []


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE entities", "CREATE VIEW entities AS SELECT x'00' AS key, 1 AS content"),
        ("CREATE TRIGGER t AFTER INSERT ON settings BEGIN DELETE FROM entities; END",),
        ("CREATE TABLE other (a)",),
        ("DROP TABLE settings",),
    ],
    ids=["view", "trigger", "table", "missing"],
)
def test_other_tables_views_and_triggers(path: Path, statements: tuple[str, ...]) -> None:
    """Nothing of a file is run: one that has more than the tables of a snapshot is refused."""
    _change(path, *statements)
    before = path.read_bytes()
    saved = Snapshot(path)
    for use in (lambda: list(saved), lambda: saved.refresh([]), saved.verify, lambda: len(saved)):
        with pytest.raises(SnapshotError, match="its tables are not those of version 2"):
            use()
    assert path.read_bytes() == before


def test_a_foreign_database_in_wal_mode_is_not_touched(tmp_path: Path) -> None:
    """Reading it with a lock would make files beside it."""
    path = tmp_path / "foreign"
    program = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1])\n"
        "connection.execute('PRAGMA journal_mode = WAL')\n"
        "connection.execute('CREATE TABLE t (a)')\n"
        "connection.commit()\n"
    )
    subprocess.run([sys.executable, "-c", program, path], check=True)
    before = path.read_bytes()
    saved = Snapshot(path)
    for use in (
        lambda: list(saved),
        lambda: saved.refresh([Entity(_key(1))]),
        lambda: saved.refresh([Entity(_key(1))], replace=True),
    ):
        with pytest.raises(SnapshotError, match="another SQLite database"):
            use()
    assert path.read_bytes() == before
    assert [other.name for other in tmp_path.iterdir()] == ["foreign"]


def _failing() -> Iterator[Entity]:
    yield Entity(_key(1))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("SELECT * FROM mine")


@pytest.mark.parametrize("use", [Snapshot.refresh, Snapshot.get_many])
def test_an_error_of_the_iterator_is_the_callers(
    path: Path, use: Callable[[Snapshot, object], object]
) -> None:
    """Also if the iterator reads a database of its own."""
    given = _failing() if use is Snapshot.refresh else (entity.key for entity in _failing())
    with pytest.raises(sqlite3.OperationalError, match="no such table: mine"):
        use(Snapshot(path), given)
    assert len(Snapshot(path)) == _COUNT


@pytest.mark.parametrize("given", [[_key(1)], "text", Entity(_key(1)), [None]])
def test_arguments_that_are_no_entities(path: Path, given: object) -> None:
    with pytest.raises(TypeError, match=r"refresh\(\) takes"):
        Snapshot(path).refresh(given)  # type: ignore[arg-type]  # as asked
    assert len(Snapshot(path)) == _COUNT


def test_a_refresh_says_that_another_one_holds_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lazyentity.snapshot.connections._BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(SnapshotError, match="by another refresh; try again"):
            Snapshot(path).refresh([])
