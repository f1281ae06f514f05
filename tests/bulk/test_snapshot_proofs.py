"""A read of a damaged file gives the data that was stored, or an error."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.snapshot import CorruptEntity, Refreshed, Snapshot, SnapshotError
from lazyentity.snapshot.connections import identity, is_in_use
from lazyentity.snapshot.payloads import stored_key
from tests.bulk.earlier import make_version_1
from tests.support import forks

pytestmark = pytest.mark.any_backend

_COUNT = 120
_KEYS = [Key("Item", number, project="p") for number in range(1, _COUNT + 1)]


def _entities() -> list[Entity]:
    entities = [Entity(key) for key in _KEYS]
    for entity in entities:
        entity["text"] = f"the text of entity {entity.key.id}"
    return entities


_EXPECTED = {entity.key: dict(entity) for entity in _entities()}


def _parts(key: Key) -> tuple[Any, ...]:
    """Return what keys are compared by, of which the client makes deep copies."""
    return key.flat_path, key.project, key.namespace, key.database


_BY_PARTS = {_parts(key): properties for key, properties in _EXPECTED.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "snapshot"
    with Snapshot(path) as saved:
        saved.refresh(_entities())
    return path


def _change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _sql(key: Key) -> str:
    return f"x'{stored_key(key).hex()}'"


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
    """Each read of one is an error, by each way to read it."""
    _change(path, damage)
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


@pytest.mark.parametrize("number", [1, 60, _COUNT])
def test_missing_rows(path: Path, number: int) -> None:
    """An entity that was lost is not said to be absent, and the others can be read."""
    key = _KEYS[number - 1]
    _change(path, f"DELETE FROM entities WHERE key = {_sql(key)}")
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
    _change(path, "DELETE FROM entities")
    assert _outcomes(Snapshot(path)) == {"error", "right"}
    with pytest.raises(SnapshotError):
        list(Snapshot(path))


def test_a_key_that_is_damaged(path: Path) -> None:
    """It is neither another entity, nor is its own entity absent."""
    other = Key("Item", 5_000, project="p")
    _change(path, f"UPDATE entities SET key = {_sql(other)} WHERE key = {_sql(_KEYS[6])}")
    saved = Snapshot(path)
    with pytest.raises(CorruptEntity):
        saved[other]
    for read in (lambda: saved[_KEYS[6]], lambda: other in saved, lambda: list(saved.keys())):
        with pytest.raises(SnapshotError):
            read()


def test_a_damaged_link_alone(path: Path) -> None:
    """Entities can be read; whether there are others cannot be told."""
    _change(path, f"UPDATE entities SET successor = 1 WHERE key = {_sql(_KEYS[6])}")
    saved = Snapshot(path)
    assert dict(saved[_KEYS[6]]) == _EXPECTED[_KEYS[6]]
    with pytest.raises(SnapshotError):
        list(saved)
    (found,) = saved.verify()
    assert "some of its keys are damaged" in str(found)


def test_links_follow_each_refresh(path: Path) -> None:
    """However keys come and go, what is there and what is not is proven."""
    saved = Snapshot(path)
    chance = random.Random(1)
    for _ in range(20):
        kept = chance.sample(_entities(), chance.randrange(1, _COUNT))
        saved.refresh(kept)
        there = {entity.key for entity in kept}
        assert set(saved.keys()) == there
        assert {key for key in _KEYS if key in saved} == there
        assert {entity.key for entity in saved} == there
        assert [entity is not None for entity in saved.get_many(_KEYS)] == [
            key in there for key in _KEYS
        ]
        assert saved.verify() == []


def test_a_damaged_content_is_not_vouched_for(path: Path) -> None:
    """An entity that gets a content which the file has already does not make it sound."""
    _change(path, "UPDATE contents SET data = (SELECT data FROM contents WHERE number = 3)")
    added = Entity(Key("Item", _COUNT + 1, project="p"))
    added.update(_EXPECTED[_KEYS[7]])
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match=r"content \d+ is damaged.*replace=True"):
        saved.refresh([*_entities(), added])
    saved.refresh([*_entities(), added], replace=True)
    assert dict(saved[added.key]) == dict(added)


def test_version_1(path: Path) -> None:
    """It is read, and written anew by the next refresh, which idle readers notice."""
    make_version_1(path)
    saved = Snapshot(path)
    assert {entity.key: dict(entity) for entity in saved} == _EXPECTED
    assert set(saved.keys()) == set(_KEYS)
    assert saved.get_many([Key("Item", 5_000, project="p")]) == [None]
    assert (len(saved), saved.information().schema_version, saved.verify()) == (_COUNT, 1, [])
    reading = iter(saved)
    first = next(reading)
    assert Snapshot(path).refresh(_entities()) == Refreshed(_COUNT, 0, 0, _COUNT)
    assert {entity.key: dict(entity) for entity in (first, *reading)} == _EXPECTED
    assert (len(saved), saved.information().schema_version, saved.verify()) == (_COUNT, 2, [])
    _change(path, "UPDATE entities SET content = content % 10 + 1")
    with pytest.raises(CorruptEntity):
        saved.get_many(_KEYS)
    assert Snapshot(path).refresh(_entities()).added == 0


@pytest.mark.parametrize(
    "value", ["1e400", "-1", "2.5", "99999999999999999999", "9" * 5_000, "NaN", "[" * 10_000]
)
def test_numbers_that_are_none(path: Path, value: str) -> None:
    """In version 1, which has no checksums of settings, any value can be there."""
    make_version_1(path)
    _change(path, f"UPDATE settings SET value = '{value}' WHERE name = 'entities'")
    saved = Snapshot(path)
    for read in (lambda: len(saved), saved.information):
        with pytest.raises(SnapshotError, match="setting 'entities' is missing or damaged"):
            read()


def test_a_changed_setting(path: Path) -> None:
    """A value that could be right is not taken for it."""
    _change(path, "UPDATE settings SET value = CAST('119' AS BLOB) WHERE name = 'entities'")
    saved = Snapshot(path)
    with pytest.raises(SnapshotError, match="setting 'entities' is missing or damaged"):
        len(saved)
    (found,) = saved.verify()
    assert "setting 'entities'" in str(found)


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
        lambda: saved.refresh(_entities()),
    ):
        with pytest.raises(SnapshotError, match="replace=True") as raised:
            read()
        assert isinstance(raised.value.__cause__, UnicodeDecodeError)
        # The error refers to the frame of the connection, which is closed nevertheless.
        assert not is_in_use(identity(path))
    saved.refresh(_entities(), replace=True)
    assert saved.verify() == []


def test_an_error_of_decoding_by_the_iterator_is_the_callers(path: Path) -> None:
    def given() -> Any:
        yield _entities()[0]
        b"\xff".decode()

    with pytest.raises(UnicodeDecodeError):
        Snapshot(path).refresh(given())


@pytest.mark.parametrize("version", [1, 2])
def test_keys_that_cannot_be_decoded(path: Path, version: int) -> None:
    """They are errors when the entity is read, not when its key is asked for later."""
    if version == 1:
        make_version_1(path)
    _change(path, f"UPDATE entities SET key = x'0a02ffff' WHERE key = {_sql(_KEYS[6])}")
    errors = []
    entities = iter(Snapshot(path))
    while True:
        try:
            assert dict(next(entities))
        except CorruptEntity as error:
            errors.append(error)
        except StopIteration:
            break
    (damaged,) = errors
    assert damaged.key == b"\x0a\x02\xff\xff"
    assert damaged.__cause__ is not None


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
    _change(path, damage.format(size))
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
