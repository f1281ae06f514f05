"""Collections that change while a bulk call reads them: zones, keys and other threads do that."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.cloud import datastore

from lazyentity.bulk import BulkError, delete_many, get_many, put_many
from lazyentity.snapshot import Snapshot
from tests.bulk.services import FAST, Call, RecordingService, stored
from tests.support.changing import acting, meanwhile

Client = datastore.Client

_KIND = "Item"


def _entities(client: Client, act: Callable[[list[Any]], object]) -> list[datastore.Entity]:
    """Return six entities; encoding the third calls a function with the list of them."""
    entities = [datastore.Entity(client.key(_KIND, number)) for number in range(1, 7)]
    entities[2]["at"] = acting(lambda: act(entities))
    return entities


@pytest.mark.parametrize(
    "act",
    [lambda entities: entities.pop(0), lambda entities: entities.clear()],
    ids=["the first goes", "all go"],
)
def test_encoding_changes_the_list(
    client: Client, act: Callable[[list[Any]], object], tmp_path: Path
) -> None:
    """All entities that were given are written."""
    ids = list(range(1, 7))
    put_many(client, _entities(client, act))
    assert sorted(one.key.id for one in client.query(kind=_KIND).fetch()) == ids
    snapshot = Snapshot(tmp_path / "items")
    snapshot.refresh(_entities(client, act))
    assert sorted(entity.key.id for entity in snapshot) == ids


def test_a_key_changes_the_list(client: Client) -> None:
    """All keys that were given are looked up, and all are deleted."""
    keys = stored(client, _KIND, 6)

    class Key(datastore.Key):
        def to_protobuf(self) -> Any:
            del given[0]
            return super().to_protobuf()  # type: ignore[no-untyped-call]  # upstream is untyped

    kind: Any = Key
    options = {"project": client.project, "namespace": client.namespace}
    given = [*keys[:2], kind(_KIND, 3, **options), *keys[3:]]
    assert [entity.key.id for entity in get_many(client, given) if entity] == [1, 2, 3, 4, 5, 6]
    given = [*keys[:2], kind(_KIND, 3, **options), *keys[3:]]
    delete_many(client, given)
    assert client.get_multi(keys) == []


@pytest.mark.parametrize("change", [list.clear, list.reverse], ids=["cleared", "reversed"])
def test_keys_change_before_the_error(
    client: Client, service: RecordingService, change: Callable[[list[Any]], object]
) -> None:
    """The error names the keys that failed: those that were given."""
    keys = stored(client, _KIND, 3)
    given = [*keys, client.key(_KIND, 99)]
    service.refuse(grpc.StatusCode.INVALID_ARGUMENT, 1, "Lookup")
    refuse = service.before

    def before(call: Call) -> None:
        if call.method == "Lookup":
            change(given)
        refuse(call)

    service.before = before
    with pytest.raises(BulkError) as raised:
        get_many(client, given, retry=FAST)
    assert list(raised.value.failed) == [*keys, client.key(_KIND, 99)]


class _Growing(Exception):
    """Its pickling adds to the error that holds it."""

    def __init__(self, holder: list[BulkError]) -> None:
        super().__init__("growing")
        self._holder = holder

    def __reduce__(self) -> Any:
        for error in self._holder:
            error.failed[datastore.Key("K", len(error.failed) + 1, project="p")] = ValueError()
            error.done.clear()
        return ValueError, ("growing",)


def test_pickling_an_error_changes_it() -> None:
    """The pickle has what the error had."""
    first, other = (datastore.Key("K", number, project="p") for number in (1, 2))
    holder: list[BulkError] = []
    error = BulkError({first: _Growing(holder)}, {other: None}, 1)
    holder.append(error)
    loaded = pickle.loads(pickle.dumps(error))
    assert (list(loaded.failed), loaded.done, loaded.count) == ([first], {other: None}, 1)


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_the_list(client: Client, service: RecordingService) -> None:
    """Entities that are in the list all the time are read and written all the time."""
    keys = stored(client, _KIND, 150)
    entities: list[Any] = client.get_multi(keys)
    other = datastore.Entity(client.key(_KIND, 999))
    staying = set(range(1, 151))
    lists: list[tuple[list[Any], Any]] = [(entities, other), (keys, other.key)]

    def change(_turn: int) -> None:
        for given, one in lists:
            given.insert(0, one)
            given.remove(one)

    def call() -> None:
        for _ in range(8):
            found = {entity.key.id for entity in get_many(client, keys) if entity is not None}
            assert found >= staying
            service.forget()
            put_many(client, entities)
            sent = [one for call in service.calls for one in call.message.mutations]
            assert {one.upsert.key.path[-1].id for one in sent} >= staying

    meanwhile(change, call)
