"""Puts, batches and transactions: requests, contents and outcomes are the stock client's."""

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
from google.cloud.datastore import _http
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches.api.requests import CommitBytes, MutationBytes, commit_request
from tests.bulk.services import FAST, RecordingService
from tests.patches.conftest import Make
from tests.support.entities import fill

Client = datastore.Client


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
def test_a_retry_sends_the_same(client: Client, service: RecordingService) -> None:
    lazyentity.patch("datastore")
    service.refuse(grpc.StatusCode.UNAVAILABLE, 1, "Commit")
    client.put_multi(_entities(client, 1, 2), retry=FAST)
    first, second = service.commits()
    assert first == second
    assert len(second.mutations) == 2


def _entity(client: Client, number: int) -> Any:
    entity = datastore.Entity(client.key("Batched", number))
    entity["number"] = number
    return entity


def _stored(client: Client) -> list[tuple[int, int]]:
    """Return the ids and the numbers of the entities."""
    found = client.query(kind="Batched").fetch()
    return sorted((entity.key.id, entity["number"]) for entity in found)


@pytest.fixture
def batch(client: Client, patched: None) -> Any:
    """A batch of a patched client, begun while nothing is stored."""
    client.delete_multi([entity.key for entity in client.query(kind="Batched").fetch()])
    begun = client.batch()
    begun.begin()
    return begun


def test_mutations_are_the_clients_messages(client: Client, batch: Any) -> None:
    """The list of a batch can be compared, copied and pickled, as that of stock."""
    held = batch.mutations
    for entity in _entities(client, 1, 2):
        batch.put(entity)
    batch.delete(client.key("Batched", 2))
    assert batch.mutations is held
    assert {type(mutation) for mutation in held[:2]} == {MutationBytes}
    assert all(isinstance(mutation, datastore_pb2.Mutation) for mutation in held)
    lazyentity.unpatch()
    stock = client.batch()
    stock.begin()
    for entity in _entities(client, 1, 2):
        stock.put(entity)
    stock.delete(client.key("Batched", 2))
    assert held == copy.deepcopy(held) == pickle.loads(pickle.dumps(held)) == stock.mutations


CHANGES: dict[str, Callable[[list[Any]], Any]] = {
    "reversed": lambda mutations: mutations.reverse(),
    "one a copy": lambda mutations: mutations.append(copy.deepcopy(mutations.pop())),
    "one of upb": lambda mutations: mutations.append(mutations.pop()._pb),
    "cleared": lambda mutations: mutations.clear(),
    "one changed": lambda mutations: mutations[0].upsert._pb.key.path[-1].__setattr__("id", 9),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_list_of_mutations_is_changed_by_hand(
    client: Client, batch: Any, change: Callable[[list[Any]], Any]
) -> None:
    """The batch sends the contents of the list at the commit."""
    for number in (1, 2, 3):
        batch.put(_entity(client, number))
    change(batch.mutations)
    upserts = [_message(mutation).upsert for mutation in batch.mutations]
    expected = [
        (entity.key.path[-1].id, entity.properties["number"].integer_value) for entity in upserts
    ]
    batch.put(_entity(client, 4))
    batch.commit()
    assert _stored(client) == sorted([*expected, (4, 4)])


def _message(mutation: Any) -> Any:
    if isinstance(mutation, datastore_pb2.Mutation):
        return mutation
    return datastore_pb2.Mutation.wrap(mutation)


@pytest.mark.parametrize("first", [lazyentity.patch, lazyentity.unpatch])
@pytest.mark.parametrize("then", [lazyentity.patch, lazyentity.unpatch])
def test_patched_in_between(
    client: Client, batch: Any, first: Callable[[], None], then: Callable[[], None]
) -> None:
    """A batch that was begun before the client is patched or unpatched goes on working."""
    batch.put(_entity(client, 1))
    first()
    batch.put(_entity(client, 2))
    then()
    batch.commit()
    assert _stored(client) == [(1, 1), (2, 2)]


def test_a_refused_put(client: Client, batch: Any) -> None:
    """As with stock, it leaves a mutation without an operation, and the entity as it was."""
    refused = _entity(client, 1)
    refused["bad"] = object()
    with pytest.raises(ValueError, match="Unknown protobuf attr type"):
        batch.put(refused)
    # proto-plus takes an empty upsert for none.
    assert [mutation._pb.WhichOneof("operation") for mutation in batch.mutations] == [None]
    del refused["bad"]
    batch.mutations.clear()
    batch.put(refused)
    batch.commit()
    assert _stored(client) == [(1, 1)]


class _OtherAPI(_http.HTTPDatastoreAPI):
    pass


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("transport", ["http"])
def test_an_api_of_somebodys_own(make: Make) -> None:
    """It gets the client's own arguments."""
    client = make()
    client._datastore_api_internal = _OtherAPI(client)  # type: ignore[no-untyped-call]  # upstream is untyped
    client.put(_entity(client, 1))
    client.put(client.get(client.key("Batched", 1)))
    client.delete_multi([client.key("Batched", number) for number in range(1, 10)])
    client.put_multi([_entity(client, 5), _entity(client, 6)])
    assert _stored(client) == [(5, 5), (6, 6)]


def _request(batch: Any) -> Any:
    return commit_request({"project_id": "p", "mutations": batch._mutations})


def test_a_mutation_that_comes_while_the_request_is_sent(client: Client, batch: Any) -> None:
    """It is not in the request, which may be sent again."""
    batch.put(_entity(client, 1))
    request = _request(batch)
    before = type(request).serialize(request)
    batch.put(_entity(client, 2))
    assert type(request).serialize(request) == before
    assert [one.upsert.key.path[-1].id for one in batch._mutations] == [1, 2]
