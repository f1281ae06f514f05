"""Calls whose mutations fit one commit: they cost no more than those of the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from google.cloud import datastore
from google.cloud.datastore.entity import Entity

import lazyentity
from lazyentity.bulk import delete_many, put_many
from lazyentity.bulk.windows import Window
from lazyentity.codec import messages
from lazyentity.patches.api.requests import CommitBytes
from tests.bulk.services import RecordingService

Client = datastore.Client

pytestmark = pytest.mark.any_backend

_KIND = "Item"


def _entities(client: Client, count: int) -> list[Any]:
    made = [Entity(client.key(_KIND, number)) for number in range(1, count + 1)]
    for number, entity in enumerate(made):
        entity.update(number=number, text="t" * 200)
    return made


def _put(client: Client, entities: list[Any]) -> None:
    put_many(client, entities)


def _delete(client: Client, entities: list[Any]) -> None:
    delete_many(client, entities)


CALLS = [_put, _delete]


@pytest.mark.parametrize(("count", "threads"), [(500, 0), (501, 2)])
@pytest.mark.parametrize("call", CALLS)
def test_no_thread_for_one_commit(
    any_client: Client, call: Callable[..., None], count: int, threads: int
) -> None:
    """The commit is sent by the thread of the caller; several ones by threads."""
    entities = _entities(any_client, count)
    any_client.get(entities[0].key)
    start = Window._start_thread
    with mock.patch.object(Window, "_start_thread", autospec=True, side_effect=start) as started:
        call(any_client, entities)
    assert len(started.mock_calls) == threads


@pytest.mark.parametrize("call", CALLS)
def test_too_little_concurrency(client: Client, call: Callable[..., None]) -> None:
    """It is refused for one commit, too."""
    function = {_put: put_many, _delete: delete_many}[call]
    with pytest.raises(ValueError, match="at least 1, not 0"):
        function(client, _entities(client, 1), concurrency=0)


@pytest.mark.parametrize("transport", ["grpc"])
@pytest.mark.parametrize("call", CALLS)
def test_no_message_is_made(
    any_client: Client, service: RecordingService, call: Callable[..., None]
) -> None:
    """Requests are made of the bytes of their entities, which are neither parsed nor copied."""
    with mock.patch.object(CommitBytes, "_make", side_effect=AssertionError):
        call(any_client, _entities(any_client, 3))
    (commit,) = (one.message for one in service.calls if one.method == "Commit")
    assert len(commit.mutations) == 3


@pytest.mark.parametrize("transport", ["grpc"])
def test_the_same_request(any_client: Client, service: RecordingService) -> None:
    """As that of the plain call, for entities with and without an id, new and read ones."""
    entities = _entities(any_client, 3)
    any_client.put_multi(entities)
    read = lazyentity.wrap(any_client).get_multi([entity.key for entity in entities])
    read[1]["number"] = 7
    for written in (entities, read):
        service.forget()
        any_client.put_multi(written)
        put_many(any_client, written)
        plain, ours = (one.message for one in service.calls if one.method == "Commit")
        assert plain == ours


def test_an_api_of_another_class_gets_messages(client: Client) -> None:
    """A mock sees what it would see without lazyentity."""
    api = mock.Mock()
    client._datastore_api_internal = api
    (entity,) = _entities(client, 1)
    put_many(client, [entity])
    request = api.commit.call_args.kwargs["request"]
    assert type(request).__name__ == "CommitRequest"
    expected = lazyentity.raw(entity)
    assert request.mutations[0]._pb.upsert == messages.Entity.FromString(expected)
