"""The errors of bulk calls, and collections that change while a call or a pickle reads them."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import BadRequest, RetryError
from google.cloud import datastore

from lazyentity.bulk import BulkError, get_many, put_many
from tests.bulk.services import FAST, GIVES_UP, Call, RecordingService, stored
from tests.support.changing import acting, meanwhile

Client = datastore.Client
_KIND = "Item"


@pytest.mark.parametrize("is_final", [False, True])
def test_an_error_is_pickled(
    any_client: Client, service: RecordingService, *, is_final: bool
) -> None:
    """With its text, and once for all keys of a request; that of the service with its class."""
    keys = stored(any_client, _KIND, 3)
    code = grpc.StatusCode.INVALID_ARGUMENT if is_final else grpc.StatusCode.UNAVAILABLE
    service.refuse(code, 10_000, "Lookup")
    with pytest.raises(BulkError) as raised:
        get_many(any_client, keys, retry=GIVES_UP)
    error = raised.value
    assert isinstance(error.failed[keys[0]], BadRequest if is_final else RetryError)
    for made in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert str(made).startswith("3 keys failed and 0 succeeded")
        assert (made.done, made.count) == (error.done, error.count)
        assert list(made.failed) == keys
        assert len(set(map(id, made.failed.values()))) == 1
        (one, *_), (original, *_) = made.failed.values(), error.failed.values()
        assert str(original) in str(one)
        if is_final:
            assert isinstance(one, BadRequest)
            assert type(one) is type(original)


def test_timeouts_are_retried(any_client: Client, service: RecordingService) -> None:
    keys = stored(any_client, _KIND, 2)
    may_go = threading.Event()
    seen: set[str] = set()

    def hold_the_first(call: Call) -> None:
        if call.method not in seen:
            seen.add(call.method)
            may_go.wait(20)

    service.before = hold_the_first
    entities: list[Any] = get_many(any_client, keys, retry=FAST, timeout=0.3)
    assert [entity["number"] for entity in entities] == [0, 1]
    put_many(any_client, [datastore.Entity(keys[0])], retry=FAST, timeout=0.3)
    may_go.set()
    assert seen == {"Lookup", "Commit"}


def _entities(client: Client, act: Callable[[list[Any]], object]) -> list[datastore.Entity]:
    """Return six entities; encoding the third calls a function with the list of them."""
    entities = [datastore.Entity(client.key(_KIND, number)) for number in range(1, 7)]
    entities[2]["at"] = acting(lambda: act(entities))
    return entities


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
