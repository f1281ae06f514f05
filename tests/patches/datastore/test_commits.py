"""Commits whose entities are sent as bytes: requests and contents are the stock client's."""

from __future__ import annotations

import copy
import datetime
import pickle
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches.api.requests import CommitBytes, MutationBytes
from tests.bulk.services import FAST, RecordingService
from tests.support.entities import fill

Client = datastore.Client

pytestmark = pytest.mark.any_backend

KIND = "Committed"
_TIME = datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.timezone.utc)


@pytest.fixture
def client(recorded: Client) -> Client:
    return recorded


@pytest.fixture
def messages() -> Iterator[list[Any]]:
    """The messages that were made of the bytes of mutations."""
    made: list[Any] = []
    make = MutationBytes._make

    def recorded(mutation: Any) -> Any:
        made.append(mutation)
        return make(mutation)

    with mock.patch.object(MutationBytes, "_make", recorded):
        yield made


def _entities(client: Client, *numbers: int) -> list[Any]:
    made = [datastore.Entity(client.key(KIND, number), ["text"]) for number in numbers]
    for entity in made:
        entity.update(count=3, text="t" * 200, when=_TIME, nothing=None)
    return made


def _all_sorts(client: Client) -> None:
    client.put_multi([fill(datastore.Entity(client.key(KIND, at)), at) for at in range(1, 4)])


def _changed(client: Client) -> None:
    (entity,) = client.get_multi([client.key(KIND, 1)])
    entity["count"] = 8
    del entity["text"]
    client.put(entity)


def _mixed(client: Client) -> None:
    with client.batch() as batch:
        for entity in _entities(client, 1, 2):
            batch.put(entity)
        batch.delete(client.key(KIND, 3))
        batch.delete(client.key(KIND, 4))
        batch.put(*_entities(client, 5))


def _without_id(client: Client) -> None:
    entities = [datastore.Entity(client.key(KIND, "a", "Child")) for _ in range(2)]
    client.put_multi(entities)
    assert all(entity.key.id for entity in entities)


def _in_transaction(client: Client) -> None:
    with client.transaction() as transaction:
        for entity in _entities(client, 1, 2):
            transaction.put(entity)


WRITES: dict[str, Callable[[Client], None]] = {
    "put": lambda client: client.put(*_entities(client, 1)),
    "put_multi": lambda client: client.put_multi(_entities(client, 1, 2, 3)),
    "no properties": lambda client: client.put(datastore.Entity(client.key(KIND, 9))),
    "a read entity": _changed,
    "puts and deletions": _mixed,
    "partial keys": _without_id,
    "a transaction": _in_transaction,
    "all sorts of values": _all_sorts,
}


def _sent(service: RecordingService, client: Client, write: Callable[[Client], None]) -> Any:
    """Return the commits that a write sends."""
    client.put_multi(_entities(client, 1, 2, 3))
    service.forget()
    write(client)
    return service.commits()


@pytest.mark.parametrize("name", WRITES)
def test_as_stock(
    client: Client, service: RecordingService, messages: list[Any], name: str
) -> None:
    """The same requests, for which no message of an entity is made."""
    stock = _sent(service, client, WRITES[name])
    lazyentity.patch("datastore")
    made: list[Any] = []
    with mock.patch.object(CommitBytes, "joined", _recorded(made)):
        assert _sent(service, client, WRITES[name]) == stock
    assert len(stock) == 1
    # The client over HTTP asks a message of the request for its bytes.
    assert bool(made) is client._use_grpc
    assert messages == [] or name == "all sorts of values"


def _recorded(made: list[Any]) -> Any:
    make = CommitBytes.joined

    def joined(*args: Any) -> Any:
        made.append(make(*args))
        return made[-1]

    return joined


@pytest.mark.parametrize("transport", ["grpc"])
class TestMutations:
    """The private list of a batch has the contents of the stock client's."""

    @pytest.fixture
    def batch(self, client: Client) -> Any:
        lazyentity.patch("datastore")
        begun: Any = client.batch()
        begun.begin()
        for entity in _entities(client, 1, 2):
            begun.put(entity)
        return begun

    def test_as_messages(self, client: Client, batch: Any) -> None:
        held = list(batch._mutations)
        assert {type(mutation) for mutation in held} == {MutationBytes}
        lazyentity.unpatch()
        other: Any = client.batch()
        other.begin()
        for entity in _entities(client, 1, 2):
            other.put(entity)
        assert held == other._mutations
        assert copy.deepcopy(held) == pickle.loads(pickle.dumps(held)) == other._mutations
        assert all(isinstance(mutation, datastore_pb2.Mutation) for mutation in held)

    def test_a_change_is_sent(self, client: Client, service: RecordingService, batch: Any) -> None:
        batch._mutations[1].upsert.key.path[0].id = 7
        batch.commit()
        (commit,) = service.commits()
        assert [one.upsert.key.path[0].id for one in commit.mutations] == [1, 7]


@pytest.mark.parametrize("transport", ["grpc"])
def test_a_retry_sends_the_same(client: Client, service: RecordingService) -> None:
    lazyentity.patch("datastore")
    service.refuse(grpc.StatusCode.UNAVAILABLE, 1, "Commit")
    client.put_multi(_entities(client, 1, 2), retry=FAST)
    first, second = service.commits()
    assert first == second
    assert len(second.mutations) == 2


_to_protobuf: Any = datastore.Key.to_protobuf


class TestMutation:
    """A mutation of bytes can be changed, by several threads as well."""

    @pytest.mark.parametrize("transport", ["grpc"])
    def test_mutations_that_are_no_list(self, client: Client) -> None:
        lazyentity.patch("datastore")
        batch = client.batch()
        batch.begin()
        batch.put(_entities(client, 1)[0])
        batch._mutations = tuple(batch._mutations)
        assert [len(mutation.upsert.key.path) for mutation in batch.mutations] == [1]
