"""Files that are damaged, foreign, newer, or left behind by a process that was killed."""

from __future__ import annotations

import json
import pickle
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Snapshot, SnapshotError, schema
from lazyentity.snapshot.payloads import stored_key
from tests.bulk.earlier import make_version_1
from tests.support import forks

pytestmark = pytest.mark.any_backend

_PROJECT = "p"
_DAMAGED = 7


def _key(number: int) -> Key:
    return Key("Item", number, project=_PROJECT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A snapshot of a hundred entities."""
    path = tmp_path / "snapshot"
    entities = [Entity(_key(number)) for number in range(1, 101)]
    for entity in entities:
        entity["text"] = f"the text of the entity {entity.key.id}"
    with Snapshot(path) as saved:
        saved.refresh(entities)
    return path


def _content(path: Path, number: int) -> tuple[int, bytes]:
    with Snapshot(path) as saved, saved._readers.transaction() as reader:
        row = reader.connection.execute(
            "SELECT number, data FROM contents JOIN entities ON content = number WHERE key = ?",
            (stored_key(_key(number)),),
        )
        found: tuple[int, bytes] = row.fetchone()
        return found


def _change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def _flip_a_bit(path: Path) -> None:
    """Damage the bytes of one content where they are on the disk."""
    _, data = _content(path, _DAMAGED)
    stored = bytearray(path.read_bytes())
    at = stored.index(data) + len(data) - 6
    assert stored.count(data) == 1
    stored[at] ^= 1
    path.write_bytes(stored)


def _replace_content(data: bytes | str | None, dictionary: int = 0) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        number, _ = _content(path, _DAMAGED)
        _change(
            path,
            "UPDATE contents SET data = ?, dictionary = ? WHERE number = ?",
            data,
            dictionary,
            number,
        )

    return replace


def _delete_content(path: Path) -> None:
    number, _ = _content(path, _DAMAGED)
    _change(path, "DELETE FROM contents WHERE number = ?", number)


# A frame that claims to have four gigabytes.
_BOMB = b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff" + b"\0" * 20


@pytest.mark.parametrize(
    "damage",
    [
        _flip_a_bit,
        _replace_content(b"no frame of zstd"),
        _replace_content(b""),
        _replace_content("text"),
        _replace_content(_BOMB),
        _replace_content(b"", 99),
        _delete_content,
    ],
    ids=["bit", "foreign", "empty", "text", "bomb", "dictionary", "missing"],
)
def test_a_damaged_entity(path: Path, damage: Callable[[Path], None]) -> None:
    """It is named, by each way to read it; the others can be read."""
    damage(path)
    saved = Snapshot(path)
    with pytest.raises(CorruptEntity) as raised:
        saved[_key(_DAMAGED)]
    assert raised.value.key == _key(_DAMAGED)
    assert repr(_key(_DAMAGED)) in str(raised.value)
    copied = pickle.loads(pickle.dumps(raised.value))
    assert (type(copied), copied.key, str(copied)) == (
        CorruptEntity,
        _key(_DAMAGED),
        str(raised.value),
    )
    with pytest.raises(CorruptEntity):
        saved.get_many([_key(1), _key(_DAMAGED)])
    others = [number for number in range(1, 101) if number != _DAMAGED]
    assert [saved[_key(number)].key.id for number in others] == others
    assert len(set(saved.keys())) == 100
    read, errors = [], []
    entities = iter(saved)
    while True:
        try:
            read.append(next(entities).key.id)
        except CorruptEntity as error:
            errors.append(error.key)
        except StopIteration:
            break
    assert sorted(read) == others
    assert errors == [_key(_DAMAGED)]
    assert [getattr(damage, "key", None) for damage in saved.verify()] == [_key(_DAMAGED)]


@pytest.mark.parametrize("version", [1, 2])
def test_a_content_of_another_entity(path: Path, version: int) -> None:
    """A sound frame with other bytes is found by its hash, and by each read from version 2 on."""
    if version == 1:
        make_version_1(path)
    numbers = [_content(path, number)[0] for number in (8, _DAMAGED)]
    _change(
        path,
        "UPDATE contents SET data = (SELECT data FROM contents WHERE number = ?) WHERE number = ?",
        *numbers,
    )
    (damage,) = Snapshot(path).verify()
    assert isinstance(damage, CorruptEntity)
    assert damage.key == _key(_DAMAGED)
    if version == 1:
        assert "another hash" in str(damage)
        return
    assert "not those that were written together" in str(damage)
    with pytest.raises(CorruptEntity):
        Snapshot(path)[_key(_DAMAGED)]


def test_damage_is_repaired_by_writing_anew(path: Path) -> None:
    entities = list(Snapshot(path))
    _flip_a_bit(path)
    saved = Snapshot(path)
    assert saved.refresh(entities).unchanged == 100
    assert len(saved.verify()) == 1
    saved.refresh(entities, replace=True)
    assert saved.verify() == []


def test_damaged_pages(path: Path) -> None:
    """Errors of SQLite name the file."""
    stored = bytearray(path.read_bytes())
    stored[200:] = b"\xff" * len(stored[200:])
    path.write_bytes(stored)
    saved = Snapshot(path)
    for read in (lambda: saved[_key(1)], lambda: list(saved), lambda: len(saved), saved.verify):
        with pytest.raises(SnapshotError, match="snapshot"):
            read()
    with pytest.raises(SnapshotError, match="replace=True"):
        saved.refresh([], allow_empty=True)


def _make_text(path: Path) -> None:
    path.write_text("This is the text of a file that is no database at all.")


def _make_one_byte(path: Path) -> None:
    path.write_bytes(b"x")


def _make_another_database(path: Path) -> None:
    path.unlink()
    _change(path, "CREATE TABLE entities (key, content)")


def _make_newer(path: Path) -> None:
    _change(path, f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    # Each version has other tables than those before.
    _change(path, "ALTER TABLE entities ADD COLUMN more")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (_make_text, "not a SQLite database|is not a snapshot, or so damaged"),
        (_make_one_byte, "not a SQLite database"),
        (_make_another_database, "another SQLite database"),
        (_make_newer, "install a newer lazyentity"),
    ],
    ids=["text", "byte", "database", "newer"],
)
def test_foreign_files_are_not_touched(path: Path, make: Callable[[Path], None], text: str) -> None:
    make(path)
    before = path.read_bytes()
    saved = Snapshot(path)
    for use in (
        lambda: list(saved),
        lambda: saved.refresh([Entity(_key(1))]),
        lambda: saved.refresh([Entity(_key(1))], replace=True),
        saved.verify,
        saved.information,
    ):
        with pytest.raises(SnapshotError, match=text):
            use()
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.iterdir()] == [path.name]


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


def test_a_process_that_was_killed_while_it_made_the_file(path: Path) -> None:
    """SQLite has to roll back the first transaction; the file is empty until a refresh ends."""
    saved = Snapshot(path)
    entities = list(saved)
    saved.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        # Those of a snapshot are set by its first transaction, which did not end.
        connection.execute("PRAGMA application_id = 0")
        connection.execute("PRAGMA user_version = 0")
    journal = Path(f"{path}-journal")
    header = struct.pack(">8sIIIII", bytes.fromhex("d9d505f920a163d7"), 0, 1, 0, 512, 16384)
    journal.write_bytes(header.ljust(512, b"\0"))
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match="its first refresh has not ended"):
        list(saved)
    assert saved.refresh(entities).added == 100
    assert len(list(saved)) == 100
    assert not journal.exists()


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
        assert forks.answer("-c", program, str(copied)) == 100
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
        Path(folder).chmod(0o755)


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_refreshes(tmp_path: Path, kills: int) -> None:
    """A process that is killed at any moment leaves the old state or the new one, and no other."""
    counts = forks.answer("-m", "tests.bulk.crash_program", str(tmp_path), str(kills), "1")
    assert counts["old"] + counts["new"] + counts["nothing"] == kills


def test_processes_that_make_one_file(tmp_path: Path) -> None:
    """They wait for each other, and the last one counts."""
    program = (
        "import os, sys\n"
        "from lazyentity.snapshot import Snapshot\n"
        "from tests.bulk.crash_program import contents, entities, expected\n"
        "for turn in range(8):\n"
        "    saved = Snapshot(f'{sys.argv[1]}/{turn}')\n"
        "    children = []\n"
        "    for state in range(4):\n"
        "        children.append(os.fork())\n"
        "        if not children[-1]:\n"
        "            try: saved.refresh(entities(state))\n"
        "            except BaseException as error: print(error, file=sys.stderr); os._exit(1)\n"
        "            os._exit(0)\n"
        "    assert not any(os.waitpid(child, 0)[1] for child in children)\n"
        "    assert contents(saved) in [expected(state) for state in range(4)]\n"
        "    assert saved.verify() == []\n"
        "print(1)"
    )
    assert forks.answer("-c", program, str(tmp_path)) == 1


def test_other_processes_read_while_one_refreshes(path: Path) -> None:
    program = (
        "import sys\n"
        "from lazyentity.snapshot import Snapshot\n"
        "saved = Snapshot(sys.argv[1])\n"
        "texts = set()\n"
        "while 'the end' not in texts:\n"
        "    texts = {entity['text'] for entity in saved}\n"
        "    assert len(texts) == 1 or len(texts) == 100, texts\n"
    )
    saved = Snapshot(path)
    entities = list(saved)
    reader = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program, str(path)])
    for number in range(20):
        for entity in entities:
            entity["text"] = f"turn {number}"
        saved.refresh(entities)
    for entity in entities:
        entity["text"] = "the end"
    saved.refresh(entities)
    assert reader.wait(60) == 0


def test_nothing_in_the_file_is_executed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are JSON, and everything else is bytes of protobuf."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    saved = Snapshot(path)
    assert len(list(saved)) == 100
    with saved._readers.transaction() as reader:
        values = [row[0] for row in reader.connection.execute("SELECT value FROM settings")]
    assert [json.loads(value) for value in values]
