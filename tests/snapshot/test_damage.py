"""A read of a damaged or foreign file gives the data that was stored, or an error."""

from __future__ import annotations

import pickle
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Snapshot, SnapshotError
from lazyentity.snapshot.format import TABLES, stored_key
from tests.snapshot.states import change, entities_in, read_all

_COUNT = 120
_EXPECTED = {entity.key: dict(entity) for entity in entities_in("old", _COUNT)}
_KEYS = list(_EXPECTED)
_DAMAGED, _OTHER = _KEYS[6], Key("Item", 5_000, project="p")
# A frame that claims to have four gigabytes.
_BOMB = (b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff" + b"\0" * 20).hex()


def _parts(key: Key) -> tuple[Any, ...]:
    """Return what keys are compared by, of which the client makes deep copies."""
    return key.flat_path, key.project, key.namespace, key.database


_BY_PARTS = {_parts(key): properties for key, properties in _EXPECTED.items()}


def _sql(key: Key) -> str:
    return f"x'{stored_key(key).hex()}'"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "snapshot"
    Snapshot(path).refresh(entities_in("old", _COUNT))
    return path


def _outcomes(saved: Snapshot, keys: Sequence[Key] = _KEYS) -> set[str]:
    """Read all, and some by their keys; say what came of it. Other data fails the test."""
    outcomes = set()

    def attempt(read: Callable[[], bool]) -> None:
        try:
            assert read()
            outcomes.add("right")
        except SnapshotError:
            outcomes.add("error")
        except KeyError:
            # Its stored key is damaged. A complete iteration says so.
            outcomes.add("missing")

    for key in keys:
        attempt(lambda key=key: dict(saved[key]) == _EXPECTED[key] and saved[key].key == key)  # type: ignore[misc]
    attempt(lambda: {_parts(entity.key): dict(entity) for entity in saved} == _BY_PARTS)
    attempt(lambda: len(saved) == _COUNT)
    attempt(lambda: saved.information().entities == _COUNT)
    return outcomes


def test_single_flipped_bits(path: Path) -> None:
    """None gives other data, or the data of another entity; verify() finds each lost entity."""
    chance = random.Random(1)
    sound = path.read_bytes()
    outcomes = []
    for _ in range(500):
        stored = bytearray(sound)
        stored[chance.randrange(len(stored))] ^= 1 << chance.randrange(8)
        path.write_bytes(stored)
        outcomes.append(_outcomes(Snapshot(path), chance.sample(_KEYS, 8)))
        if "missing" in outcomes[-1]:
            assert Snapshot(path).verify() != []
    assert {"right"} in outcomes
    assert any("error" in outcome for outcome in outcomes)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE contents SET data = CAST('no frame of zstd' AS BLOB) WHERE number = 7",
        "UPDATE contents SET data = x'' WHERE number = 7",
        "UPDATE contents SET data = 'text' WHERE number = 7",
        f"UPDATE contents SET data = x'{_BOMB}' WHERE number = 7",
        "DELETE FROM contents WHERE number = 7",
        "UPDATE contents SET data = (SELECT data FROM contents WHERE number = 8) WHERE number = 7",
        # As a flipped bit in the header of a row makes it; the bytes are no UTF-8.
        "UPDATE contents SET data = CAST(x'fffe' AS TEXT) WHERE number = 7",
        "UPDATE entities SET content = 8 WHERE content = 7",
        f"UPDATE entities SET checksum = zeroblob(8) WHERE key = {_sql(_DAMAGED)}",
    ],
    ids=["foreign", "empty", "text", "bomb", "missing", "other", "type", "link", "checksum"],
)
def test_a_damaged_entity(path: Path, damage: str) -> None:
    """It is named, by each way to read it; the others can be read, and writing anew helps."""
    change(path, damage)
    saved = Snapshot(path)
    with pytest.raises(CorruptEntity) as raised:
        saved[_DAMAGED]
    assert raised.value.key == _DAMAGED
    assert repr(_DAMAGED) in str(raised.value)
    copied = pickle.loads(pickle.dumps(raised.value))
    assert (type(copied), copied.key, str(copied)) == (CorruptEntity, _DAMAGED, str(raised.value))
    with pytest.raises(CorruptEntity):
        saved.get_many([_KEYS[0], _DAMAGED])
    others = {key: entity for key, entity in _EXPECTED.items() if key != _DAMAGED}
    assert {key: dict(saved[key]) for key in others} == others
    assert set(saved.keys()) == set(_KEYS)
    read, errors = read_all(iter(saved))
    assert {entity.key: dict(entity) for entity in read} == others
    assert [error.key for error in errors] == [_DAMAGED]
    assert [getattr(found, "key", None) for found in saved.verify()] == [_DAMAGED]
    saved.refresh(entities_in("old", _COUNT))
    assert saved.verify() == []


@pytest.mark.parametrize("lost", ["", f" WHERE key = {_sql(_DAMAGED)}"])
def test_missing_rows(path: Path, lost: str) -> None:
    """An iteration that raised nothing was complete."""
    change(path, f"DELETE FROM entities{lost}")
    saved = Snapshot(path)
    for read in (lambda: list(saved), lambda: list(saved.keys())):
        with pytest.raises(SnapshotError, match=r"of its 120 entities are there"):
            read()
    (found,) = saved.verify()
    assert str(path) in str(found)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE information SET text = CAST('{}' AS BLOB)",
        "UPDATE information SET dictionary = x'37a430ecfffe12345678'",
        "UPDATE information SET text = 'text'",
        "DELETE FROM information",
        "DROP TABLE contents",
        "CREATE VIEW other AS SELECT 1",
        "CREATE TABLE other (number)",
    ],
)
def test_a_damaged_description(path: Path, damage: str) -> None:
    change(path, damage)
    for read in (len, list, Snapshot.verify, Snapshot.information):
        with pytest.raises(SnapshotError, match=r"is damaged|cannot be used"):
            read(Snapshot(path))
    Snapshot(path).refresh(entities_in("new"))
    assert Snapshot(path).verify() == []


def _of_format(path: Path, version: int) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA application_id = {int.from_bytes(b'LzSn', 'big')}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(TABLES[1])
        connection.commit()


@pytest.mark.parametrize("version", [1, 2])
def test_an_earlier_format(path: Path, version: int) -> None:
    """It is refused, and made anew where it is, without the journal that is beside it."""
    _of_format(path, version)
    journal = path.with_name(f"{path.name}-wal")
    journal.write_bytes(b"a journal")
    with pytest.raises(SnapshotError, match=rf"has format {version}, .* snapshot save`"):
        len(Snapshot(path))
    Snapshot(path).refresh(entities_in("new", 3))
    assert (len(Snapshot(path)), journal.exists()) == (3, False)


@pytest.mark.parametrize("content", [b"", b"x", b"a text that is no database", None])
def test_foreign_files(path: Path, content: bytes | None) -> None:
    """They are not touched. Nor is a newer snapshot."""
    if content is None:
        _of_format(path, 4)
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    match = "has format 4" if content is None else "is not a snapshot"
    for use in (len, lambda saved: saved.refresh(entities_in("new"))):
        with pytest.raises(SnapshotError, match=match):
            use(Snapshot(path))
    assert path.read_bytes() == before
