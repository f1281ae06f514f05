"""A read of a damaged file gives the data that was stored, or an error."""

from __future__ import annotations

import pickle
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Snapshot, SnapshotError
from lazyentity.snapshot.payloads import stored_key
from tests.bulk.refreshing import change, entities_in, make_version_1, read_all

pytestmark = pytest.mark.any_backend

_COUNT = 120
_EXPECTED = {entity.key: dict(entity) for entity in entities_in("old", _COUNT)}
_KEYS = list(_EXPECTED)
_DAMAGED = _KEYS[6]
# A frame that claims to have four gigabytes.
_BOMB = (b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff" + b"\0" * 20).hex()

versions = pytest.mark.parametrize("version", [1, 2])


def _parts(key: Key) -> tuple[Any, ...]:
    """Return what keys are compared by, of which the client makes deep copies."""
    return key.flat_path, key.project, key.namespace, key.database


_BY_PARTS = {_parts(key): properties for key, properties in _EXPECTED.items()}


def _sql(key: Key) -> str:
    return f"x'{stored_key(key).hex()}'"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "snapshot"
    with Snapshot(path) as saved:
        saved.refresh(entities_in("old", _COUNT))
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

    for key in keys:
        attempt(lambda key=key: dict(saved[key]) == _EXPECTED[key] and saved[key].key == key)  # type: ignore[misc]
        attempt(lambda key=key: key in saved)  # type: ignore[misc]
    absent = [Key("Item", number, project="p") for number in (_COUNT + 1, 2**40)]
    attempt(lambda: saved.get_many(absent) == [None, None])
    attempt(lambda: absent[0] not in saved)
    attempt(lambda: {_parts(entity.key): dict(entity) for entity in saved} == _BY_PARTS)
    attempt(lambda: sorted(map(_parts, saved.keys())) == [*_BY_PARTS])
    attempt(lambda: len(saved) == _COUNT)
    attempt(lambda: saved.information().entities == _COUNT)
    return outcomes


def test_single_flipped_bits(path: Path) -> None:
    """None gives other data, the data of another entity, or none where there is an entity."""
    chance = random.Random(1)
    sound = path.read_bytes()
    outcomes = []
    for _ in range(500):
        stored = bytearray(sound)
        stored[chance.randrange(len(stored))] ^= 1 << chance.randrange(8)
        path.write_bytes(stored)
        with Snapshot(path) as saved:
            outcomes.append(_outcomes(saved, chance.sample(_KEYS, 8)))
    assert {"right"} in outcomes
    assert any("error" in outcome for outcome in outcomes)


def _flip_a_bit(path: Path) -> None:
    """Damage the bytes of a content where they are on the disk."""
    with closing(sqlite3.connect(path)) as connection:
        ((data,),) = connection.execute("SELECT data FROM contents WHERE number = 7")
    stored = bytearray(path.read_bytes())
    assert stored.count(data) == 1
    stored[stored.index(data) + len(data) - 6] ^= 1
    path.write_bytes(stored)


@pytest.mark.parametrize(
    "damage",
    [
        None,
        "UPDATE contents SET data = CAST('no frame of zstd' AS BLOB) WHERE number = 7",
        "UPDATE contents SET data = x'' WHERE number = 7",
        "UPDATE contents SET data = 'text' WHERE number = 7",
        f"UPDATE contents SET data = x'{_BOMB}' WHERE number = 7",
        "UPDATE contents SET dictionary = 99 WHERE number = 7",
        "DELETE FROM contents WHERE number = 7",
        # As a flipped bit in the header of a row makes it; the bytes are no UTF-8.
        "UPDATE contents SET data = CAST(x'fffe' AS TEXT) WHERE number = 7",
        "UPDATE contents SET dictionary = CAST(x'fffe' AS TEXT) WHERE number = 7",
    ],
    ids=["bit", "foreign", "empty", "text", "bomb", "dictionary", "missing", "type", "link type"],
)
def test_a_damaged_entity(path: Path, damage: str | None) -> None:
    """It is named, by each way to read it; the others can be read."""
    if damage is None:
        _flip_a_bit(path)
    else:
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
    assert [getattr(damage, "key", None) for damage in saved.verify()] == [_DAMAGED]


def test_damage_is_repaired_by_writing_anew(path: Path) -> None:
    _flip_a_bit(path)
    saved = Snapshot(path)
    assert saved.refresh(entities_in("old", _COUNT)).unchanged == _COUNT
    assert len(saved.verify()) == 1
    saved.refresh(entities_in("old", _COUNT), replace=True)
    assert saved.verify() == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entities SET content = content % 10 + 1",
        "UPDATE contents SET data = (SELECT data FROM contents WHERE number = 3)",
        "UPDATE entities SET checksum = (SELECT max(checksum) FROM entities)",
        "UPDATE entities SET checksum = zeroblob(8)",
    ],
)
def test_contents_under_other_keys(path: Path, damage: str) -> None:
    """Reading such a content is an error, by each way to read it."""
    change(path, damage)
    saved = Snapshot(path)
    assert "error" in _outcomes(saved)
    damaged = [error.key for error in saved.verify() if isinstance(error, CorruptEntity)]
    assert len(damaged) >= _COUNT - 10
    for key in _KEYS:
        if key in damaged:
            with pytest.raises(CorruptEntity) as raised:
                saved[key]
            assert raised.value.key == key
        else:
            assert dict(saved[key]) == _EXPECTED[key]


_OTHER = Key("Item", 5_000, project="p")


@versions
@pytest.mark.parametrize(
    ("damage", "key", "text", "earlier"),
    [
        (
            f"UPDATE entities SET key = {_sql(_OTHER)} WHERE key = {_sql(_DAMAGED)}",
            _OTHER,
            "not those that were written together",
            "are not those that were written",
        ),
        (
            "UPDATE entities SET content = 8 WHERE content = 7",
            _DAMAGED,
            "not those that were written together",
            "are not those that were written",
        ),
        (
            "UPDATE contents SET data = (SELECT data FROM contents WHERE number = 8) "
            "WHERE number = 7",
            _DAMAGED,
            "not those that were written together",
            "another hash",
        ),
        (
            f"DELETE FROM entities WHERE key = {_sql(_DAMAGED)}",
            None,
            "are not those that were written",
            "are not those that were written",
        ),
    ],
    ids=["key", "link", "content", "missing"],
)
def test_rows_that_were_not_written_so(
    path: Path, damage: str, key: Key | None, text: str, earlier: str, version: int
) -> None:
    """verify() finds keys and contents that are sound, and do not belong together.

    From version 2 on, each read does. Before, a content has a hash, and the file has a digest.
    """
    if version == 1:
        make_version_1(path)
    assert Snapshot(path).verify() == []
    change(path, damage)
    (found,) = Snapshot(path).verify()
    if version == 1:
        text, key = earlier, key if earlier == "another hash" else None
    assert text in str(found)
    assert getattr(found, "key", None) == key
    if key is None:
        assert str(path) in str(found)
    elif version == 2:
        with pytest.raises(CorruptEntity):
            Snapshot(path)[key]


def test_a_snapshot_of_an_earlier_version_has_no_digest(path: Path) -> None:
    make_version_1(path)
    change(path, "DELETE FROM settings WHERE name = 'digest'")
    assert Snapshot(path).verify() == []


@pytest.mark.parametrize("number", [1, 60, _COUNT])
def test_missing_rows(path: Path, number: int) -> None:
    """An entity that was lost is not said to be absent, and the others can be read."""
    key = _KEYS[number - 1]
    change(path, f"DELETE FROM entities WHERE key = {_sql(key)}")
    saved = Snapshot(path)
    for read in (
        lambda: saved[key],
        lambda: saved.get_many([key]),
        lambda: key in saved,
        lambda: list(saved),
        lambda: list(saved.keys()),
    ):
        with pytest.raises(SnapshotError, match=r"damaged, missing or repeated.*replace=True"):
            read()
    entities = iter(saved)
    others = set(_KEYS) - {key}
    assert {next(entities).key for _ in others} == others
    with pytest.raises(SnapshotError):
        next(entities)
    assert all(dict(saved[other]) == _EXPECTED[other] for other in others)


def test_no_rows_at_all(path: Path) -> None:
    change(path, "DELETE FROM entities")
    assert _outcomes(Snapshot(path)) == {"error", "right"}
    with pytest.raises(SnapshotError):
        list(Snapshot(path))


def test_a_key_that_is_damaged(path: Path) -> None:
    """It is neither another entity, nor is its own entity absent."""
    change(path, f"UPDATE entities SET key = {_sql(_OTHER)} WHERE key = {_sql(_DAMAGED)}")
    saved = Snapshot(path)
    with pytest.raises(CorruptEntity):
        saved[_OTHER]
    for read in (lambda: saved[_DAMAGED], lambda: _OTHER in saved, lambda: list(saved.keys())):
        with pytest.raises(SnapshotError):
            read()


@pytest.mark.parametrize("value", ["CAST('text' AS TEXT)", "5", "2.5", "x'00'"])
def test_a_key_of_another_type(path: Path, value: str) -> None:
    """The bytes of its column, or their text, stand for the key."""
    change(path, f"UPDATE entities SET key = {value} WHERE key = {_sql(_DAMAGED)}")
    saved = Snapshot(path)
    read, (error,) = read_all(iter(saved))
    assert len(read) == _COUNT - 1
    assert isinstance(error.key, bytes)
    assert [getattr(found, "key", None) for found in saved.verify()] == [error.key]
    with pytest.raises(CorruptEntity):
        list(saved.keys())
    with pytest.raises(SnapshotError, match="some of its keys are damaged"):
        saved.get_many([_DAMAGED])


@versions
def test_keys_that_cannot_be_decoded(path: Path, version: int) -> None:
    """They are errors when the entity is read, not when its key is asked for later."""
    if version == 1:
        make_version_1(path)
    change(path, f"UPDATE entities SET key = x'0a02ffff' WHERE key = {_sql(_DAMAGED)}")
    read, (damaged,) = read_all(iter(Snapshot(path)))
    assert all(map(dict, read))
    assert damaged.key == b"\x0a\x02\xff\xff"
    assert damaged.__cause__ is not None


def test_a_damaged_link_alone(path: Path) -> None:
    """Entities can be read; whether there are others cannot be told."""
    change(path, f"UPDATE entities SET successor = 1 WHERE key = {_sql(_DAMAGED)}")
    saved = Snapshot(path)
    assert dict(saved[_DAMAGED]) == _EXPECTED[_DAMAGED]
    with pytest.raises(SnapshotError):
        list(saved)
    (found,) = saved.verify()
    assert "some of its keys are damaged" in str(found)


def test_links_follow_each_refresh(path: Path) -> None:
    """However keys come and go, what is there and what is not is proven."""
    saved = Snapshot(path)
    chance = random.Random(1)
    for _ in range(20):
        kept = chance.sample(entities_in("old", _COUNT), chance.randrange(1, _COUNT))
        saved.refresh(kept)
        there = {entity.key for entity in kept}
        assert set(saved.keys()) == there
        assert {key for key in _KEYS if key in saved} == there
        assert {entity.key for entity in saved} == there
        found = [entity is not None for entity in saved.get_many(_KEYS)]
        assert found == [key in there for key in _KEYS]
        assert saved.verify() == []


def test_a_damaged_content_is_not_vouched_for(path: Path) -> None:
    """An entity that gets a content which the file has already does not make it sound."""
    change(path, "UPDATE contents SET data = (SELECT data FROM contents WHERE number = 3)")
    added = Entity(_OTHER)
    added.update(_EXPECTED[_KEYS[7]])
    given = [*entities_in("old", _COUNT), added]
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match=r"content \d+ is damaged.*replace=True"):
        saved.refresh(given)
    saved.refresh(given, replace=True)
    assert dict(saved[added.key]) == dict(added)


@pytest.mark.parametrize(
    "data", ["x'37a430ecfffe12345678'", "5", "CAST(x'37a430ecfffe12345678' AS TEXT)"]
)
def test_a_damaged_dictionary(path: Path, data: str) -> None:
    """Its entities are damaged, and no others; keys and their number can be read."""
    saved = Snapshot(path)
    change(path, f"INSERT INTO dictionaries VALUES (99, {data})")
    assert len(list(saved)) == _COUNT
    with pytest.raises(SnapshotError, match=r"dictionary 99 is damaged.*replace=True"):
        saved.refresh([Entity(_OTHER)])
    change(path, f"UPDATE dictionaries SET data = {data}")
    saved = Snapshot(path)
    read, errors = read_all(iter(saved))
    assert (read, len(errors)) == ([], _COUNT)
    assert len(saved) == len(list(saved.keys())) == _COUNT
    assert len(saved.verify()) == _COUNT
    assert saved.refresh([Entity(_OTHER)], replace=True).added == 1
    assert saved.verify() == []
