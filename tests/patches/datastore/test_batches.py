"""Batches of a patched client have the client's own contents and outcomes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import _http
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity.patches.api.requests import commit_request
from tests.patches.conftest import Make
from tests.patches.order_program import KIND
from tests.support.concurrency import together

Client = datastore.Client


pytestmark = pytest.mark.usefixtures("patched")


def _entity(client: Client, number: int) -> Any:
    entity = datastore.Entity(client.key("Batched", number))
    entity["number"] = number
    return entity


def _stored(client: Client) -> list[tuple[int, int]]:
    """Return the ids and the numbers of the entities."""
    found = client.query(kind="Batched").fetch()
    return sorted((entity.key.id, entity["number"]) for entity in found)


@pytest.fixture
def batch(client: Client) -> Any:
    client.delete_multi([entity.key for entity in client.query(kind="Batched").fetch()])
    begun = client.batch()
    begun.begin()
    return begun


def test_the_list_of_mutations_stays_the_same(client: Client, batch: Any) -> None:
    """It is a list of messages, and can be copied."""
    held = batch.mutations
    batch.put(_entity(client, 1))
    batch.delete(client.key("Batched", 2))
    assert batch.mutations is held
    assert type(held) is list
    assert all(isinstance(mutation, datastore_pb2.Mutation) for mutation in held)
    assert copy.deepcopy(held) == pickle.loads(pickle.dumps(held)) == held


CHANGES: dict[str, Callable[[list[Any]], Any]] = {
    "none": lambda mutations: None,
    "reversed": lambda mutations: mutations.reverse(),
    "one less": lambda mutations: mutations.pop(1),
    "one a copy": lambda mutations: mutations.append(copy.deepcopy(mutations.pop())),
    "one a dict": lambda mutations: mutations.append({"upsert": mutations.pop().upsert}),
    "one of upb": lambda mutations: mutations.append(mutations.pop()._pb),
    "cleared": lambda mutations: mutations.clear(),
    "one changed": lambda mutations: mutations[0].upsert._pb.key.path[-1].__setattr__("id", 9),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changed_by_hand(client: Client, batch: Any, change: Callable[[list[Any]], Any]) -> None:
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
    if isinstance(mutation, dict):
        return datastore_pb2.Mutation(mutation)
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


def _fresh(client: Client) -> Any:
    return _entity(client, 1)


def _read(client: Client) -> Any:
    client.put(_entity(client, 1))
    return client.get(client.key("Batched", 1))


@pytest.mark.parametrize("make_entity", [_fresh, _read])
def test_a_refused_put(client: Client, batch: Any, make_entity: Callable[[Client], Any]) -> None:
    """As with stock, it leaves a mutation without an operation, and the entity as it was."""
    refused = make_entity(client)
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


@pytest.mark.parametrize("transport", ["http"])
def test_an_api_of_somebodys_own(make: Make) -> None:
    """It gets the client's own arguments."""
    client = make()
    client._datastore_api_internal = _OtherAPI(client)  # type: ignore[no-untyped-call]  # upstream is untyped
    entity = client.get(client.key(KIND, 1))
    client.put(entity)
    client.delete_multi([client.key("Batched", number) for number in range(1, 10)])
    client.put_multi([_entity(client, 5), _entity(client, 6)])
    assert _stored(client) == [(5, 5), (6, 6)]


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [{"inner": value}]
    return value


@pytest.mark.parametrize("make_entity", [_fresh, _read])
def test_values_that_go_too_deep(
    client: Client, batch: Any, make_entity: Callable[[Client], Any]
) -> None:
    """They are refused when the batch is committed, before anything is sent, as with stock."""
    entity = make_entity(client)
    for levels, is_refused in ((16, False), (19, False), (20, True), (22, True), (40, True)):
        entity["deep"] = _nested(levels)
        outcomes = []
        for activate in (lazyentity.unpatch, lazyentity.patch):
            activate()
            # Before 2.20, leaving a batch commits it again.
            another = client.batch()
            another.begin()
            another.put(entity)
            try:
                another.commit()
            except DecodeError as error:
                outcomes.append(str(error))
            else:
                outcomes.append("sent")
        assert outcomes[0] == outcomes[1]
        assert (outcomes[0] != "sent") == is_refused


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


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_puts_while_the_request_is_made(client: Client) -> None:
    """The request has the mutations that were there, and making it does not fail."""
    entity = _entity(client, 1)
    for _ in range(150):
        batch: Any = client.batch()
        batch.begin()
        batch.put(entity)

        def work(number: int, batch: Any = batch) -> Any:
            if number:
                for _ in range(20):
                    batch.put(entity)
                return []
            return [len(_request(batch)._pb.mutations) for _ in range(3)]

        counts, _ = together(2, work)
        # As in stock, one that is just being added may be among them.
        assert all(1 <= count <= 21 for count in counts)
