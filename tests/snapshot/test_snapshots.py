"""Snapshot: what is read from it, and what a refresh writes."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.cloud import datastore
from hypothesis import given, settings, strategies as st

import lazyentity
from lazyentity import LazyEntity
from lazyentity.snapshot import Snapshot, SnapshotError
from lazyentity.snapshot.format import split
from tests.support.concurrency import together
from tests.support.entities import fill
from tests.support.snapshots import snapshot
from tests.support.stock import EntityMessage, ValueMessage
from tests.support.strategies import Grammar, entities as drawn_entities

Client = datastore.Client
Entity = datastore.Entity
Key = datastore.Key
_KIND = "Item"
_PROJECT = "p"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """No file yet."""
    return tmp_path / "entities with a space?.snapshot"


def _entities(count: int, text: str = "text", first: int = 1) -> list[Entity]:
    entities = [Entity(Key(_KIND, first + at, project=_PROJECT)) for at in range(count)]
    for entity in entities:
        entity.update({"number": entity.key.id, "text": f"{text} {entity.key.id}", "same": 1.5})
    return entities


def _texts(entities: object) -> list[str]:
    assert isinstance(entities, Iterator | list)
    return sorted(entity["text"] for entity in entities)


def test_each_kind_of_client(any_client: Client, path: Path) -> None:
    """The entities equal the client's, are lazy whatever it is, and do not need it."""
    stored = [fill(Entity(any_client.key("Parent", "p", _KIND, at)), at) for at in range(1, 6)]
    any_client.put_multi(stored)
    with Snapshot(path) as saved:
        assert saved.refresh(any_client.query(kind=_KIND)) == 5
        expected = [any_client.get(entity.key) for entity in stored]
        keys = [entity.key for entity in stored]
        entities = saved.get_many(keys)
        assert {type(entity) for entity in [*entities, *saved, saved[keys[0]]]} == {LazyEntity}
        assert snapshot(entities) == snapshot(expected)
        assert snapshot(sorted(saved, key=lambda entity: entity.key.id)) == snapshot(expected)
        assert snapshot(saved[keys[3]]) == snapshot(expected[3])
        assert sorted(key.id for key in saved.keys()) == [1, 2, 3, 4, 5]  # noqa: SIM118
        assert len(saved) == 5
        assert lazyentity.decoded(saved[keys[0]]) == ()
        # The mode changes nothing in what is stored.
        before = [*map(lazyentity.raw, saved)]
        with lazyentity.eager():
            saved.refresh(any_client.query(kind=_KIND))
        assert [*map(lazyentity.raw, saved)] == before


def test_absent_keys(path: Path) -> None:
    saved = Snapshot(path)
    saved.refresh(_entities(2))
    keys = [Key(_KIND, number, project=_PROJECT) for number in (9, 1)]
    assert [entity and entity["number"] for entity in saved.get_many(keys)] == [None, 1]
    assert (keys[0] in saved, keys[1] in saved) == (False, True)
    assert Key(_KIND, project=_PROJECT) not in saved
    assert "1" not in saved
    with pytest.raises(KeyError):
        saved[keys[0]]
    with pytest.raises(TypeError, match="by key, not by int"):
        saved[1]  # type: ignore[index]  # the error of that


@settings(max_examples=25)
@given(st.lists(drawn_entities(Grammar(nan=False, depth=1)), min_size=1, max_size=3))
def test_any_entities(tmp_path_factory: pytest.TempPathFactory, raws: list[bytes]) -> None:
    """What is read is what was received."""
    saved = Snapshot(tmp_path_factory.mktemp("any") / "snapshot")
    messages = {}
    for number, raw in enumerate(raws, start=1):
        message = EntityMessage.FromString(raw)
        message.key.CopyFrom(Key(_KIND, number, project=_PROJECT).to_protobuf()._pb)
        messages[number] = message
    with saved:
        received = {
            number: LazyEntity.from_bytes(message.SerializeToString())
            for number, message in messages.items()
        }
        saved.refresh(received.values())
        for entity in saved:
            raw = lazyentity.raw(received[entity.key.id])
            assert EntityMessage.FromString(lazyentity.raw(entity)) == EntityMessage.FromString(raw)
        assert saved.verify() == []


def test_contents_are_compressed_with_a_dictionary_and_stored_once(path: Path) -> None:
    entities = _entities(400)
    for entity in entities:
        del entity["number"]
        entity["text"] = f"text {entity.key.id % 100}"
    saved = Snapshot(path)
    saved.refresh(entities)
    information = saved.information()
    assert (information.entities, information.contents) == (400, 100)
    ((size,),) = saved._opened().rows("SELECT sum(length(data)) FROM contents")
    assert size < 100 * len(split(lazyentity.raw(entities[0]))[1])
    assert _texts(iter(saved)) == _texts(entities)


def test_refresh(path: Path) -> None:
    """The file has the new entities and no others; of several with a key, the last."""
    saved = Snapshot(path)
    assert saved.refresh(_entities(60)) == 60
    later = [*_entities(50, first=5), *_entities(3, "other", first=20)]
    assert saved.refresh(iter(later)) == 50
    expected = {entity.key: entity["text"] for entity in later}
    assert {entity.key: entity["text"] for entity in saved} == expected
    assert len(saved) == 50
    with pytest.raises(SnapshotError, match="the query gave no entity"):
        saved.refresh([])
    assert saved.refresh([], allow_empty=True) == 0
    assert (len(saved), list(saved), saved.verify()) == (0, [], [])
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_a_refresh_that_fails_changes_nothing(path: Path) -> None:
    saved = Snapshot(path)
    saved.refresh(_entities(5))

    def broken() -> Iterator[Entity]:
        yield from _entities(3, "new")
        raise OSError("no more entities")

    with pytest.raises(OSError, match="no more entities"):
        saved.refresh(broken())
    refused: list[tuple[Any, type[Exception], str]] = [
        (Entity(), ValueError, "without a complete key"),
        (Entity(Key(_KIND, project=_PROJECT)), ValueError, "without a complete key"),
        ({"number": 1}, TypeError, "takes a google.cloud.datastore.Entity"),
        (_entities(1)[0].key, TypeError, r"refresh\(\) takes"),
        (None, TypeError, r"refresh\(\) takes"),
    ]
    for wrong, kind, text in refused:
        with pytest.raises(kind, match=text):
            saved.refresh([*_entities(3, "new"), wrong])
    not_entities: Any
    for not_entities in ("text", _entities(1)[0]):
        with pytest.raises(TypeError, match=r"refresh\(\) takes"):
            saved.refresh(not_entities)
    assert _texts(iter(saved)) == _texts(_entities(5))


def test_incomplete_queries_are_refused(client: Client, path: Path) -> None:
    query = client.query(kind=_KIND)
    query.keys_only()
    for projection in (query.projection, ["number"]):
        query.projection = projection
        with pytest.raises(ValueError, match="keys-only query or a projection are incomplete"):
            Snapshot(path).refresh(query)
    assert not path.exists()


def test_entities_read_inside_eager(path: Path) -> None:
    """Stock ones, by each way of reading; one that the client cannot convert raises its error."""
    unset = EntityMessage(properties={"unset": ValueMessage()})
    unset.key.CopyFrom(EntityMessage.FromString(lazyentity.raw(_entities(4)[3])).key)
    saved = Snapshot(path)
    saved.refresh([*_entities(3), LazyEntity.from_bytes(unset.SerializeToString())])
    keys = [entity.key for entity in _entities(3)]
    with lazyentity.eager():
        iterated = iter(saved)
        found = [saved[keys[0]], *saved.get_many(keys), next(iterated)]
        with pytest.raises(ValueError, match="did not have any value set") as raised:
            saved[_entities(4)[3].key]
        assert list(saved.verify()) == []
    assert not isinstance(raised.value, SnapshotError)
    assert {*map(type, found)} == {Entity}
    assert [*map(snapshot, found[1:4])] == [*map(snapshot, _entities(3))]
    # The mode is that of the moment at which an entity is made.
    assert type(next(iterated)) is LazyEntity


def test_readers_keep_their_state(path: Path) -> None:
    """Until they open the file anew; iterations go on in the state in which they began."""
    saved, other = Snapshot(path), Snapshot(path)
    saved.refresh(_entities(2_000))
    reading, iterating = iter(saved), iter(other)
    first = next(reading)
    next(iterating)
    saved.refresh(_entities(10, "new"))
    assert _texts(iter(saved)) == _texts(_entities(10, "new"))
    assert _texts([first, *reading]) == _texts(_entities(2_000))
    assert _texts(iter(other)) == _texts(_entities(2_000))
    other.close()
    assert _texts(iter(other)) == _texts(_entities(10, "new"))
    assert len(list(iterating)) == 1_999


@pytest.mark.usefixtures("frequent_switches")
def test_threads_read_while_one_refreshes(path: Path) -> None:
    """They share an open file, and none sees half a state."""
    saved = Snapshot(path)
    states = [_entities(30, f"state {number}") for number in range(2)]
    expected = [_texts(entities) for entities in states]
    keys = [entity.key for entity in states[0]]
    saved.refresh(states[0])
    is_over = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            for turn in range(10):
                saved.refresh(states[turn % 2])
            is_over.set()
            return 1
        read = 0
        while not is_over.is_set():
            for entities in (saved.get_many(keys), list(saved)):
                assert _texts(entities) in expected
                read += 1
        return read

    assert all(together(4, work))


def test_a_query_describes_itself(client: Client, path: Path) -> None:
    client.put_multi([fill(Entity(client.key(_KIND, at)), at) for at in range(1, 4)])
    saved = Snapshot(path)
    query = client.query(kind=_KIND)
    saved.refresh(query)
    expected = f"project {client.project}, namespace {client.namespace}, kind {_KIND}"
    expected = expected.replace("namespace None, ", "")
    assert saved.information().source == expected
    query.add_filter(filter=datastore.query.PropertyFilter("number", "=", 2))
    assert saved.refresh(query) == 1
    assert saved.information().source == f"{expected}, a part"


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_mode_of_the_file(tmp_path: Path, path: Path) -> None:
    """A new one is its owner's alone; later ones keep the mode, and a link stays one."""
    saved = Snapshot(path)
    saved.refresh(_entities(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    link = tmp_path / "link"
    link.symlink_to(path)
    Snapshot(link).refresh(_entities(2))
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert (link.is_symlink(), len(saved)) == (True, 2)
