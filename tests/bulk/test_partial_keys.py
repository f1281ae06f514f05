"""put_many(): entities whose ids are not known yet, in its limits and in its errors."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bulk import BulkError, put_many, writing
from lazyentity.bulk.limits import MAX_ENTITY_BYTES
from tests.bulk.services import Call, RecordingService, refusal

pytestmark = pytest.mark.any_backend

Client = datastore.Client
Entity = datastore.Entity

_KIND = "Item"


def _of_size(key: datastore.Key, size: int) -> Entity:
    entity = Entity(key, exclude_from_indexes=("blob",))
    entity["blob"] = bytes(size)
    entity["blob"] = bytes(2 * size - len(lazyentity.raw(entity)))
    assert len(lazyentity.raw(entity)) == size
    return entity


def _sent(service: RecordingService) -> list[Any]:
    return [
        mutation.upsert
        for call in service.calls
        if call.method == "Commit"
        for mutation in call.message.mutations
    ]


@pytest.mark.parametrize("kind", [_KIND, "K" * 110, "K" * 125])
def test_the_size_limit_has_room_for_the_id(
    client: Client, service: RecordingService, kind: str
) -> None:
    """Lengths around the id take more bytes with it, if the kind has about 120 letters."""
    room = writing._MAX_ID_BYTES
    fits = _of_size(client.key(kind), MAX_ENTITY_BYTES - room)
    put_many(client, [fits])
    assert max(upsert.ByteSize() for upsert in _sent(service)) <= MAX_ENTITY_BYTES
    service.forget()
    large = _of_size(client.key(kind), MAX_ENTITY_BYTES - room + 1)
    with pytest.raises(BulkError, match="has, with its id, 1048573 bytes") as raised:
        put_many(client, [large])
    assert list(raised.value.failed.values())
    assert service.calls == []
    put_many(client, [_of_size(client.key(kind, 2**63 - 1), MAX_ENTITY_BYTES)])


def test_the_longest_id() -> None:
    """The room for an id is what the longest one takes, and no more."""
    grown = set()
    for length in range(90, 130):
        key: Any = datastore.Key("K" * length, project="p")
        complete = key.completed_key(2**63 - 1)
        sizes = [len(lazyentity.raw(Entity(one))) for one in (key, complete)]
        grown.add(sizes[1] - sizes[0])
    assert max(grown) <= writing._MAX_ID_BYTES
    assert min(grown) >= 10


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


def test_an_entity_twice_of_which_one_write_failed(
    client: Client, service: RecordingService
) -> None:
    """It is among those that failed, with the key that it got, and not among the others as well."""
    entity, other = Entity(client.key(_KIND)), Entity(client.key(_KIND, 1))
    is_refused: list[bool] = []

    def refuse_the_first(call: Call) -> None:
        if call.method == "AllocateIds" and not is_refused:
            is_refused.append(True)
            raise refusal(grpc.StatusCode.INVALID_ARGUMENT)

    service.before = refuse_the_first
    with pytest.raises(BulkError) as raised:
        put_many(client, [entity, entity, other])
    error = raised.value
    assert not entity.key.is_partial
    assert list(error.failed) == [entity.key]
    assert (error.done, error.count) == ({other.key: other}, 1)


@pytest.mark.parametrize("is_sent", [False, True])
def test_an_entity_that_fails_twice(
    client: Client, service: RecordingService, *, is_sent: bool
) -> None:
    """It is one key that failed."""
    entity = Entity(client.key(_KIND))
    if is_sent:
        service.refuse(grpc.StatusCode.INVALID_ARGUMENT, 2, "AllocateIds")
    else:
        entity["number"] = object()
    with pytest.raises(BulkError, match="1 keys failed and 0 succeeded") as raised:
        put_many(client, [entity, entity])
    (key,) = raised.value.failed
    assert key is entity.key
