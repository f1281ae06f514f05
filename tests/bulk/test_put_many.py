"""put_many(): the mutations, their order, the limits, and ids that are not known yet."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers

import lazyentity
from lazyentity.bulk import BulkError, put_many, writing
from lazyentity.bulk.writing import MAX_ENTITY_BYTES, MAX_REQUEST_BYTES
from tests.bulk.services import FAST, Call, RecordingService, refusal
from tests.support.entities import fill

Client = datastore.Client
Entity = datastore.Entity
_KIND = "Item"


def _entities(client: Client, count: int) -> list[Entity]:
    entities = [Entity(client.key(_KIND, number + 1)) for number in range(count)]
    for number, entity in enumerate(entities):
        entity["number"] = number
    return entities


def _sent(service: RecordingService) -> list[Any]:
    return [mutation.upsert for commit in service.commits() for mutation in commit.mutations]


def _numbers(client: Client) -> dict[int, int]:
    return {entity.key.id: entity["number"] for entity in client.query(kind=_KIND).fetch()}


@pytest.mark.usefixtures("requests_of_three")
def test_each_kind_of_client(any_client: Client, service: RecordingService) -> None:
    """The same requests as from put_multi(), for stock and lazy entities, changed or not."""
    entities = [fill(Entity(any_client.key(_KIND, number)), number) for number in range(1, 6)]
    any_client.put_multi(entities)
    lazy = list(lazyentity.wrap(any_client.query(kind=_KIND)).fetch())
    lazy[1]["number"] = "changed"
    lazy[2]["inner"]["hidden"] = "changed"
    del lazy[3]["text"]
    for given in (entities, lazy):
        service.forget()
        any_client.put_multi(given)
        expected = _sent(service)
        (plain,) = service.commits()
        del plain.mutations[:]
        for made in (given, iter(given)):
            service.forget()
            put_many(any_client, made)
            assert sorted(service.sizes("Commit")) == [2, 3]
            assert all(message in expected for message in _sent(service))
            for commit in service.commits():
                del commit.mutations[:]
                assert commit == plain
    # The last ones were lazy, and the first of these is unchanged.
    stored_again = helpers.entity_to_protobuf(any_client.get(entities[0].key))._pb
    assert stored_again == expected[0]


def test_commits_of_10_mebibytes(
    client: Client, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the size that the request has on the wire."""
    monkeypatch.setattr(writing, "MAX_REQUEST_BYTES", 20_000)
    entities = _entities(client, 40)
    for entity in entities:
        entity.exclude_from_indexes.add("text")
        entity["text"] = "x" * 1_000
    put_many(client, entities)
    sizes = [commit.ByteSize() for commit in service.commits()]
    assert max(sizes) <= 20_000
    assert len(sizes) == 3
    assert MAX_REQUEST_BYTES == 10 * 1024 * 1024


def test_entities_over_the_limit_are_named_before_anything_is_sent(
    client: Client, service: RecordingService
) -> None:
    sizes = MAX_ENTITY_BYTES, MAX_ENTITY_BYTES + 1, 100_000, 2 * MAX_ENTITY_BYTES
    entities = [_of_size(client.key(_KIND, at + 1), size) for at, size in enumerate(sizes)]
    assert [len(lazyentity.raw(entity)) for entity in entities] == list(sizes)
    with pytest.raises(BulkError, match="1048573 bytes, more than the 1048572") as raised:
        put_many(client, entities)
    assert list(raised.value.failed) == [entities[1].key, entities[3].key]
    assert (raised.value.done, raised.value.count, service.calls) == ({}, 0, [])
    # Of an iterator, the others are written.
    with pytest.raises(BulkError) as raised:
        put_many(client, iter(entities))
    assert list(raised.value.failed) == [entities[1].key, entities[3].key]
    assert (raised.value.done, raised.value.count) == ({}, 2)
    assert [len(commit.mutations) for commit in service.commits()] == [2]


def test_partial_keys(any_client: Client, service: RecordingService) -> None:
    """They are completed, one request for all of a commit; the entities get the keys."""
    entities = [Entity(any_client.key("Parent", "p", _KIND)) for _ in range(3)]
    entities.append(Entity(any_client.key(_KIND, 7)))
    for number, entity in enumerate(entities[1:], 1):
        entity["number"] = number
    put_many(any_client, entities)
    assert service.sizes("AllocateIds") == [3]
    assert len({entity.key for entity in entities}) == 4
    assert dict(any_client.get(entities[0].key)) == {}
    assert [any_client.get(entity.key)["number"] for entity in entities[1:]] == [1, 2, 3]


def test_retries_store_no_entity_twice(any_client: Client, service: RecordingService) -> None:
    """A commit that was applied, and answered with an error, is sent again with the same ids."""
    entities = [Entity(any_client.key(_KIND)) for _ in range(2)]
    for number, entity in enumerate(entities):
        entity["number"] = number
    service.fail_applied_commits()
    put_many(any_client, entities, retry=FAST)
    assert service.sizes("Commit") == [2, 2, 2]
    assert sorted(_numbers(any_client).values()) == [0, 1]


def test_one_entity_twice(client: Client, service: RecordingService) -> None:
    """An entity without an id is stored once."""
    entity = Entity(client.key(_KIND))
    entity["number"] = 1
    put_many(client, [entity, entity])
    assert _numbers(client) == {entity.key.id: 1}


def test_an_entity_that_comes_again_is_written_in_its_order(
    client: Client, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An iterator may change and repeat an entity whose first commit has completed its key."""
    monkeypatch.setattr(writing, "MAX_MUTATIONS", 1)
    entity = Entity(client.key(_KIND))
    is_sent, is_over = threading.Event(), threading.Event()
    overtaken: list[bool] = []

    def repeated() -> Iterator[Entity]:
        yield entity
        # The commit before is sent when the next entity has been taken.
        yield Entity(client.key(_KIND, "other"))
        assert is_sent.wait(20)
        entity["number"] = 2
        yield entity

    def hold_the_first(call: Call) -> None:
        if call.method == "Commit" and not call.message.mutations[0].upsert.key.path[0].name:
            if is_sent.is_set():
                overtaken.append(not is_over.is_set())
            is_sent.set()
            is_over.wait(0.1)
            is_over.set()

    service.before = hold_the_first
    put_many(client, repeated())
    assert overtaken == [False]
    assert client.get(entity.key)["number"] == 2


@pytest.mark.parametrize("is_iterator", [False, True])
def test_entities_of_one_key_are_written_in_their_order(
    client: Client, service: RecordingService, is_iterator: bool
) -> None:
    entities = _entities(client, 3)
    later = _entities(client, 2)
    for entity in later:
        entity["number"] += 100
    given = [*entities, *later, entities[1]]
    put_many(client, iter(given) if is_iterator else given)
    assert service.sizes("Commit") == [3, 2, 1]
    assert _numbers(client) == {1: 100, 2: 1, 3: 2}


@pytest.mark.usefixtures("requests_of_three")
def test_iterators_are_read_no_further_than_needed(
    client: Client, service: RecordingService
) -> None:
    taken = 0

    def entities() -> Iterator[Entity]:
        nonlocal taken
        for entity in _entities(client, 100):
            taken += 1
            yield entity

    reached: list[int] = []
    service.before = lambda call: reached.append(taken)
    put_many(client, entities(), concurrency=2)
    # Each of the commits so far, the two that run, and the one that is being gathered.
    assert all(now <= 3 * (at + 1 + 2 + 1) for at, now in enumerate(reached))


@pytest.mark.usefixtures("requests_of_three")
@pytest.mark.parametrize("refused", [0, 1])
def test_a_key_of_which_one_write_failed(
    client: Client, service: RecordingService, refused: int
) -> None:
    """It is among those that failed, whichever write it was, and not among the others as well."""
    first, second, third = _entities(client, 3)
    commits = itertools.count()

    def refuse(call: Call) -> None:
        if call.method == "Commit" and next(commits) == refused:
            raise refusal(grpc.StatusCode.INVALID_ARGUMENT)

    service.before = refuse
    with pytest.raises(BulkError) as raised:
        put_many(client, [first, second, first, third])
    error = raised.value
    failed = [[first, second], [first, third]][refused]
    assert list(error.failed) == [entity.key for entity in failed]
    (other,) = (entity for entity in (second, third) if entity not in failed)
    assert error.done == {other.key: other}
    assert error.count == 1


def _of_size(key: datastore.Key, size: int) -> Entity:
    entity = Entity(key, exclude_from_indexes=("blob",))
    entity["blob"] = b""
    for _ in range(3):
        # The lengths around the blob take more bytes, too.
        entity["blob"] = bytes(size - len(lazyentity.raw(entity)) + len(entity["blob"]))
    assert len(lazyentity.raw(entity)) == size
    return entity


@pytest.mark.parametrize("is_iterator", [False, True])
@pytest.mark.parametrize("is_sent", [False, True])
def test_entities_that_share_a_partial_key(
    client: Client, service: RecordingService, *, is_sent: bool, is_iterator: bool
) -> None:
    """Each of them is in the error."""
    key = client.key(_KIND)
    entities = [Entity(key) for _ in range(3)]
    if is_sent:
        service.refuse(grpc.StatusCode.INVALID_ARGUMENT, 1, "AllocateIds")
    else:
        for entity in entities:
            entity["number"] = object()
    with pytest.raises(BulkError, match="3 keys failed and 0 succeeded") as raised:
        put_many(client, iter(entities) if is_iterator else entities)
    failed = list(raised.value.failed)
    assert len(failed) == 3
    assert failed[0] is key
    assert {one.flat_path for one in failed} == {(_KIND,)}
