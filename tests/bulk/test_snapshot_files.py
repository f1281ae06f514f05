"""Files that are damaged in pages or settings, foreign, newer, earlier, or under odd names."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Refreshed, Snapshot, SnapshotError, schema
from lazyentity.snapshot.command import main
from lazyentity.snapshot.connections import identity, is_in_use
from lazyentity.snapshot.payloads import stored_key
from tests.bulk.refreshing import COUNT, change, entities_in, make_version_1, read_all, states
from tests.support import forks

pytestmark = pytest.mark.any_backend

_MANY = 2_000
_PAGE = 16_384
_KEY = Key("Item", 1, project="p")


@pytest.fixture(scope="module")
def _many_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "snapshot"
    entities = entities_in("old", _MANY)
    for entity in entities:
        # Contents that do not compress.
        entity["data"] = (str(entity.key.id) * 300).encode()
        entity["noise"] = bytes((entity.key.id * at) % 251 for at in range(120))
    with Snapshot(path) as saved:
        saved.refresh(entities)
    return path


@pytest.fixture
def large(_many_pages: Path, tmp_path: Path) -> Path:
    """A snapshot of many pages."""
    return Path(shutil.copy(_many_pages, tmp_path / "large"))


def _fill_page(path: Path, table: str, kind: int, size: int, content: bytes = b"") -> None:
    """Damage the first bytes of a leaf in the middle of a table, and not of its root."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'")
        ((root,),) = rows
    stored = bytearray(path.read_bytes())
    leaves = [
        at
        for at in range(0, len(stored), _PAGE)
        if stored[at] == kind and at // _PAGE + 1 != root and at > len(stored) // 3
        if content in stored[at : at + _PAGE]
    ]
    stored[leaves[0] : leaves[0] + size] = b"\xff" * size
    path.write_bytes(stored)


def test_a_damaged_page_of_contents(large: Path) -> None:
    """It takes its own entities along, which are named, and no others."""
    _fill_page(large, "contents", 13, _PAGE)
    saved = Snapshot(large)
    read, errors = read_all(iter(saved))
    damaged: list[Any] = [error.key for error in errors]
    assert 0 < len(damaged) < _MANY / 4
    ids = [entity.key.id for entity in read] + [key.id for key in damaged]
    assert sorted(ids) == list(range(1, _MANY + 1))
    for key in damaged:
        with pytest.raises(CorruptEntity):
            saved[key]
    found = saved.verify()
    assert [error.key for error in found if isinstance(error, CorruptEntity)] == damaged
    assert len(found) > len(damaged)
    outcome = CliRunner().invoke(main, ["verify", str(large)])
    assert outcome.exit_code == 1
    assert repr(damaged[0]) in outcome.output


def test_a_damaged_page_of_keys(large: Path) -> None:
    """The entities on it cannot be named; verify() says that the file is damaged."""
    # Leaves of a table without a rowid are leaves of an index; the hashes have some, too.
    stored = large.read_bytes()
    key = next(
        key
        for key in (stored_key(Key("Item", at, project="p")) for at in range(1, _MANY))
        if stored.rfind(key) > len(stored) // 3
    )
    _fill_page(large, "entities", 10, 8, key)
    found = Snapshot(large).verify()
    assert found
    assert all(str(large) in str(error) for error in found)
    with pytest.raises(SnapshotError, match="malformed"):
        list(Snapshot(large))


def test_damaged_pages(path: Path) -> None:
    """Errors of SQLite name the file."""
    stored = path.read_bytes()
    path.write_bytes(stored[:200] + b"\xff" * len(stored[200:]))
    saved = Snapshot(path)
    for read in (lambda: saved[_KEY], lambda: list(saved), lambda: len(saved), saved.verify):
        with pytest.raises(SnapshotError, match="snapshot"):
            read()
    with pytest.raises(SnapshotError, match="replace=True"):
        saved.refresh([], allow_empty=True)


@pytest.mark.parametrize("value", ["x'fffe'", "CAST(x'fffe' AS TEXT)", "'{'", "'[]'", "'null'"])
@pytest.mark.parametrize("name", ["entities", "refreshed"])
def test_damaged_settings(path: Path, name: str, value: str) -> None:
    """They are named; entities can be read."""
    change(path, f"UPDATE settings SET value = {value} WHERE name = '{name}'")
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match=f"setting '{name}' is missing or damaged"):
        saved.information()
    assert saved[_KEY].key == _KEY


@pytest.mark.parametrize(
    ("name", "value"),
    # A number of entities that could be right is not taken for it.
    [("digest", "'{'"), ("entities", f"CAST('{COUNT - 1}' AS BLOB)")],
)
def test_verify_names_a_damaged_setting(path: Path, name: str, value: str) -> None:
    change(path, f"UPDATE settings SET value = {value} WHERE name = '{name}'")
    saved = Snapshot(path)
    (found,) = saved.verify()
    assert f"setting '{name}' is missing or damaged" in str(found)
    if name == "entities":
        with pytest.raises(SnapshotError, match="setting 'entities' is missing or damaged"):
            len(saved)


@pytest.mark.parametrize(
    "value", ["1e400", "-1", "2.5", "99999999999999999999", "9" * 5_000, "NaN", "[" * 10_000]
)
def test_numbers_that_are_none(path: Path, value: str) -> None:
    """In version 1, which has no checksums of settings, any value can be there."""
    make_version_1(path)
    change(path, f"UPDATE settings SET value = '{value}' WHERE name = 'entities'")
    saved = Snapshot(path)
    for read in (lambda: len(saved), saved.information):
        with pytest.raises(SnapshotError, match="setting 'entities' is missing or damaged"):
            read()


def test_version_1(path: Path) -> None:
    """It is read, and written anew by the next refresh, which idle readers notice."""
    expected = {entity.key: dict(entity) for entity in entities_in("old")}
    make_version_1(path)
    saved = Snapshot(path)
    assert {entity.key: dict(entity) for entity in saved} == expected
    assert set(saved.keys()) == set(expected)
    assert saved.get_many([Key("Item", 5_000, project="p")]) == [None]
    assert (len(saved), saved.information().schema_version, saved.verify()) == (COUNT, 1, [])
    reading = iter(saved)
    first = next(reading)
    assert Snapshot(path).refresh(entities_in("old")) == Refreshed(COUNT, 0, 0, COUNT)
    assert {entity.key: dict(entity) for entity in (first, *reading)} == expected
    assert (len(saved), saved.information().schema_version, saved.verify()) == (COUNT, 2, [])
    change(path, "UPDATE entities SET content = content % 10 + 1")
    with pytest.raises(CorruptEntity):
        saved.get_many(expected)
    assert Snapshot(path).refresh(entities_in("old")).added == 0


def test_a_schema_that_is_no_text(path: Path) -> None:
    """SQLite's error quotes it, and Python cannot decode that."""
    stored = path.read_bytes()
    before = b"CREATE TABLE contents (number"
    assert stored.count(before) == 1
    path.write_bytes(stored.replace(before, b"CREATE TABLE contents \xff\xff\xff\xff\xff\xff\xff"))
    saved = Snapshot(path)
    for read in (
        lambda: len(saved),
        lambda: list(saved),
        saved.verify,
        lambda: saved.refresh(entities_in("new")),
    ):
        with pytest.raises(SnapshotError, match="replace=True") as raised:
            read()
        assert isinstance(raised.value.__cause__, UnicodeDecodeError)
        # The error refers to the frame of the connection, which is closed nevertheless.
        assert not is_in_use(identity(path))
    saved.refresh(entities_in("new"), replace=True)
    assert saved.verify() == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE contents SET data = zeroblob({}) WHERE number = 7",
        "UPDATE contents SET data = CAST(zeroblob({}) AS TEXT) WHERE number = 7",
        "UPDATE dictionaries SET data = zeroblob({})",
    ],
    ids=["content", "text", "dictionary"],
)
def test_large_cells_are_not_read(path: Path, damage: str, version: int) -> None:
    """The memory of the process does not grow by the cell."""
    size = 200_000_000
    if version == 1:
        make_version_1(path)
    change(path, damage.format(size))
    program = (
        "import resource, sys\n"
        "from google.cloud.datastore import Key\n"
        "from lazyentity.snapshot import Snapshot, SnapshotError\n"
        "def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "saved = Snapshot(sys.argv[1])\n"
        "len(saved)\n"
        "before = most()\n"
        "for read in (\n"
        "    lambda: saved.get_many([Key('Item', at, project='p') for at in range(1, 121)]),\n"
        "    lambda: list(saved), saved.verify, saved.information, lambda: list(saved.keys()),\n"
        "):\n"
        "    try: read()\n"
        "    except SnapshotError: pass\n"
        "print((most() - before) * 1024)\n"
    )
    assert forks.answer("-c", program, str(path)) < size / 2


def _make_another_database(path: Path) -> None:
    path.unlink()
    change(path, "CREATE TABLE entities (key, content)")


def _make_another_in_wal_mode(path: Path) -> None:
    """Reading it with a lock would make files beside it."""
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a)")


def _make_newer(path: Path) -> None:
    change(
        path,
        f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}",
        # Each version has other tables than those before.
        "ALTER TABLE entities ADD COLUMN more",
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda path: path.write_text("This is the text of a file that is no database at all."),
            "not a SQLite database|is not a snapshot, or so damaged",
        ),
        (lambda path: path.write_bytes(b"x"), "not a SQLite database"),
        (_make_another_database, "another SQLite database"),
        (_make_another_in_wal_mode, "another SQLite database"),
        (_make_newer, "install a newer lazyentity"),
    ],
    ids=["text", "byte", "database", "WAL", "newer"],
)
def test_foreign_files_are_not_touched(
    path: Path, make: Callable[[Path], object], text: str
) -> None:
    make(path)
    before = path.read_bytes()
    saved = Snapshot(path)
    for use in (
        lambda: list(saved),
        lambda: saved.refresh([Entity(_KEY)]),
        lambda: saved.refresh([Entity(_KEY)], replace=True),
        saved.verify,
        saved.information,
    ):
        with pytest.raises(SnapshotError, match=text):
            use()
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.iterdir()] == [path.name]


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
    change(path, *statements)
    before = path.read_bytes()
    saved = Snapshot(path)
    for use in (lambda: list(saved), lambda: saved.refresh([]), saved.verify, lambda: len(saved)):
        with pytest.raises(SnapshotError, match="its tables are not those of version 2"):
            use()
    assert path.read_bytes() == before


def test_missing_and_empty_files(tmp_path: Path) -> None:
    saved = Snapshot(tmp_path / "snapshot")
    with pytest.raises(SnapshotError, match="there is no snapshot"):
        len(saved)
    assert not saved.path.exists()
    saved.path.touch()
    with pytest.raises(SnapshotError, match="its first refresh has not ended"):
        list(saved)
    saved.refresh([], allow_empty=True)
    assert list(saved) == []
    folder = Snapshot(tmp_path)
    for use in (lambda: list(folder), lambda: folder.refresh([])):
        with pytest.raises((SnapshotError, OSError)):
            use()
    with pytest.raises(SnapshotError, match="unable to open"):
        Snapshot(tmp_path / "missing" / "snapshot").refresh([])


def test_read_only_folders(path: Path) -> None:
    """A file that nobody can write is read without the files that SQLite makes beside it."""
    program = (
        "import os, sys\n"
        "from lazyentity.snapshot import Snapshot\n"
        # Root may write everywhere.
        "os.geteuid() or os.setuid(65534)\n"
        "print(len(list(Snapshot(sys.argv[1]))))\n"
    )
    # Those above it are closed to other users.
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copy(path, folder)
        # It is made for its owner alone.
        Path(copied).chmod(0o644)
        Path(folder).chmod(0o555)
        assert forks.answer("-c", program, str(copied)) == COUNT
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
        Path(folder).chmod(0o755)


def test_nothing_in_the_file_is_executed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are JSON, and everything else is bytes of protobuf."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    saved = Snapshot(path)
    assert len(list(saved)) == COUNT
    with saved._readers.transaction() as reader:
        values = [row[0] for row in reader.connection.execute("SELECT value FROM settings")]
    assert [json.loads(value) for value in values]


def test_links(path: Path, tmp_path: Path) -> None:
    """The files beside the database are made beside the target of the link."""
    link = tmp_path / "folder" / "link"
    link.parent.mkdir()
    link.symlink_to(path)
    saved = Snapshot(link)
    assert states(saved) == {"old": COUNT}
    assert saved.refresh(entities_in("new")).changed == COUNT
    assert [other.name for other in link.parent.iterdir()] == ["link"]


@pytest.mark.parametrize("name", ["a?b#c%20d", ":memory:", os.fsdecode(b"\xff")])
def test_names_of_files(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are names, and nothing else, relative ones too."""
    monkeypatch.chdir(tmp_path)
    assert Snapshot(name).refresh(entities_in("new", 3)).added == 3
    assert (tmp_path / name).stat().st_size
    assert len(Snapshot(f"/{tmp_path}/{name}")) == 3
