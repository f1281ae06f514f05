"""get_many(): the results, the requests, and the errors."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.api_core.exceptions import BadRequest, GoogleAPICallError
from google.cloud import datastore
from hypothesis import given, settings, strategies as st

import lazyentity
from lazyentity.bulk import BulkError, get_many, reading
from lazyentity.bulk.calls import Call
from tests.bulk.services import (
    FAST,
    RecordingService,
    connected,
    served,
    stored,
)
from tests.support.describing import entity_types
from tests.support.entities import fill
from tests.support.snapshots import snapshot

Client = datastore.Client
Key = datastore.Key
_KIND = "Item"

any_iterable = pytest.mark.parametrize("iterate", [list, iter])


def _numbers(entities: object) -> list[int | None]:
    assert isinstance(entities, list)
    return [None if entity is None else entity["number"] for entity in entities]


@pytest.mark.usefixtures("requests_of_three")
def test_each_kind_of_client(any_client: Client) -> None:
    """The same entities as from client.get(), in the order of the keys, for every client."""
    keys = [any_client.key("Parent", "p", _KIND, number) for number in range(1, 8)]
    any_client.put_multi([fill(datastore.Entity(key), key.id) for key in keys[:5]])
    asked = [keys[at] for at in (6, 3, 0, 3, 5, 1, 4, 2, 6, 0)]
    expected = [any_client.get(key) for key in asked]
    for given_keys in (asked, iter(asked)):
        entities = list(get_many(any_client, given_keys))
        assert entity_types(entities) == entity_types(expected)
        assert snapshot(entities) == snapshot(expected)


@pytest.fixture(scope="module")
def small_answers() -> Iterator[Client]:
    """A client of a service that answers two keys at a time, with the numbers 0 to 8 stored."""
    with served(lookup_limit=2) as made, connected(made, namespace="small") as client:
        stored(client, _KIND, 9)
        yield client


@settings(max_examples=40)
@given(
    ids=st.lists(st.integers(1, 12), max_size=40),
    concurrency=st.integers(1, 4),
    size=st.integers(1, 7),
    is_iterator=st.booleans(),
)
def test_any_keys(
    small_answers: Client, ids: list[int], concurrency: int, size: int, is_iterator: bool
) -> None:
    """As client.get() of each, whatever is repeated, missing, deferred, or in another request."""
    keys = [small_answers.key(_KIND, number) for number in ids]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "MAX_KEYS", size)
        given_keys = iter(keys) if is_iterator else keys
        entities = list(get_many(small_answers, given_keys, concurrency=concurrency))
    assert _numbers(entities) == [number - 1 if number <= 9 else None for number in ids]


@any_iterable
def test_requests_of_a_thousand_keys(
    client: Client, service: RecordingService, iterate: Callable[[Any], Any]
) -> None:
    """Any number of keys takes a thousandth of the requests, rounded up."""
    keys = [client.key(_KIND, number) for number in range(1, 2502)]
    found = list(get_many(client, iterate(keys)))
    assert found == [None] * 2501
    assert sorted(service.sizes("Lookup")) == [501, 1000, 1000]


def test_equal_keys_are_looked_up_once(client: Client, service: RecordingService) -> None:
    """They also give one entity object."""
    keys = stored(client, _KIND, 3)
    entities = get_many(client, [client.key(*key.flat_path) for key in keys] * 1_000)
    assert service.sizes("Lookup") == [3]
    assert len(entities) == 3_000
    assert len(set(map(id, entities))) == 3


@pytest.mark.parametrize(
    ("code", "requests"),
    [
        (grpc.StatusCode.UNAVAILABLE, 3),
        (grpc.StatusCode.ABORTED, 3),
        (grpc.StatusCode.PERMISSION_DENIED, 1),
        (grpc.StatusCode.INTERNAL, 1),
    ],
)
def test_refused_requests(
    any_client: Client, service: RecordingService, code: grpc.StatusCode, requests: int
) -> None:
    """Contention and unavailability are retried, and nothing else is."""
    keys = stored(any_client, _KIND, 2)
    service.forget()
    service.refuse(code, 2, "Lookup")
    if requests == 3:
        assert _numbers(get_many(any_client, keys, retry=FAST)) == [0, 1]
    else:
        with pytest.raises(BulkError) as raised:
            get_many(any_client, keys, retry=FAST)
        assert isinstance(raised.value.failed[keys[0]], GoogleAPICallError)
    assert service.sizes("Lookup") == [2] * requests


@pytest.mark.usefixtures("requests_of_three")
def test_a_failed_look_up_does_not_lose_the_others(
    any_client: Client, service: RecordingService
) -> None:
    keys = stored(any_client, _KIND, 8)
    service.refuse_id(5)
    with pytest.raises(BulkError) as raised:
        get_many(any_client, [*keys, any_client.key(_KIND, 99)])
    error = raised.value
    assert list(error.failed) == keys[3:6]
    assert all(isinstance(one, BadRequest) for one in error.failed.values())
    assert error.__cause__ is error.failed[keys[3]]
    assert list(error.done) == [*keys[:3], *keys[6:], any_client.key(_KIND, 99)]
    assert dict(error.done[keys[7]] or {}) == {"number": 7}
    assert error.done[any_client.key(_KIND, 99)] is None
    assert error.count == 6
    assert "3 keys failed and 6 succeeded" in str(error)


def test_an_entity_that_cannot_be_converted_fails_alone(
    client: Client, service: RecordingService
) -> None:
    """A value without a type raises at once with the stock client; lazily, when it is read."""
    keys = stored(client, _KIND, 3)
    service.edit("Lookup", lambda message: message.found[1].entity.properties["number"].Clear())
    with pytest.raises(BulkError) as raised:
        get_many(client, keys)
    assert [type(error) for error in raised.value.failed.values()] == [ValueError]
    assert list(raised.value.failed) == [keys[1]]
    assert list(raised.value.done) == [keys[0], keys[2]]
    lazy: Any = get_many(lazyentity.wrap(client), keys)
    assert lazy[2]["number"] == 2
    with pytest.raises(ValueError, match="did not have any value set"):
        lazy[1]["number"]


def test_answers_that_leave_keys_out(client: Client, service: RecordingService) -> None:
    """They are an error, and not taken for missing entities."""
    keys = stored(client, _KIND, 3)
    service.edit("Lookup", lambda message: message.found.pop())
    with pytest.raises(BulkError, match="without this key") as raised:
        get_many(client, keys)
    assert list(raised.value.failed) == [keys[2]]
    assert list(raised.value.done) == keys[:2]


@pytest.mark.usefixtures("requests_of_three")
def test_inside_eager(client: Client) -> None:
    """The mode is that of the caller, also in other threads."""
    keys = stored(client, _KIND, 7)
    wrapped = lazyentity.wrap(client)
    assert entity_types(get_many(wrapped, keys)) == {"LazyEntity"}
    with lazyentity.eager():
        assert entity_types(get_many(wrapped, keys)) == {"Entity"}


@any_iterable
def test_refused_keys(
    client: Client, service: RecordingService, iterate: Callable[[Any], Any]
) -> None:
    for wrong, kind, text in (
        (client.key(_KIND), ValueError, "neither an id nor a name"),
        (Key(_KIND, 1, project="another"), ValueError, "of the project 'another', and the"),
        (
            Key(_KIND, 1, project=client.project, database="another"),
            ValueError,
            "of the database 'another', and the client of None",
        ),
        ((_KIND, 1), TypeError, "takes keys, not tuple"),
    ):
        keys = [client.key(_KIND, 1), wrong]
        with pytest.raises(kind, match=text):
            list(get_many(client, iterate(keys)))
    assert iterate is iter or service.calls == []
    with pytest.raises(ValueError, match="at least 1, not 0"):
        list(get_many(client, iter([client.key(_KIND, 1)]), concurrency=0))


def test_a_single_key_entity_or_text(client: Client, service: RecordingService) -> None:
    """These could be iterated, and an empty one would be taken for no keys."""
    key = client.key(_KIND, 1)
    wrong: Any
    for wrong, text in (
        (datastore.Entity(key), r"takes an iterable of keys, not an entity; pass \[entity.key\]"),
        (key, r"takes an iterable of keys, not one; pass \[key\]"),
        ("", "takes an iterable of keys, not str"),
        ("text", "takes an iterable of keys, not str"),
        (b"", "takes an iterable of keys, not bytes"),
    ):
        with pytest.raises(TypeError, match=text):
            get_many(client, wrong)
    assert service.calls == []


@pytest.mark.usefixtures("requests_of_three")
def test_iterators_are_read_no_further_than_needed(client: Client) -> None:
    taken = itertools.count()

    def endless() -> Iterator[Key]:
        while True:
            yield client.key(_KIND, next(taken) + 1)

    entities = get_many(client, endless(), concurrency=2)
    assert [next(entities) for _ in range(7)] == [None] * 7
    assert next(taken) <= 7 + 2 + 2 * 3


@pytest.mark.usefixtures("requests_of_three")
def test_a_stream_goes_on_after_a_failed_look_up(client: Client, service: RecordingService) -> None:
    keys = stored(client, _KIND, 8)
    service.refuse_id(5)
    entities: Any = get_many(client, iter(keys), concurrency=2)
    assert [next(entities)["number"] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(BulkError) as raised:
        next(entities)
    assert list(raised.value.failed) == keys[3:6]
    assert raised.value.done == {}
    assert raised.value.count == 3
    assert [entity["number"] for entity in entities] == [6, 7]
    assert list(entities) == []


@pytest.mark.usefixtures("requests_of_three")
@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_stream_that_is_read_in_a_transaction(
    any_client: Client, service: RecordingService, before: int
) -> None:
    """It reads no keys there, and goes on afterwards with all that were not read before."""
    keys = stored(any_client, _KIND, 12)
    service.forget()
    entities: Any = get_many(any_client, iter(keys), concurrency=1)
    found = [next(entities)["number"] for _ in range(before)]
    with any_client.transaction():
        sent = len(service.sizes("Lookup"))
        with pytest.raises(RuntimeError, match="outside of the transaction"):
            found.extend(entity["number"] for entity in entities)
        # One of the window, whose keys were read before.
        assert len(service.sizes("Lookup")) <= sent + 1
    found.extend(entity["number"] for entity in entities)
    assert found == list(range(12))


def test_a_look_up_that_the_parent_sent() -> None:
    """A child process has none of the threads, and says so."""
    may_go = threading.Event()
    call = Call(lambda: may_go.wait(20))
    with (
        mock.patch.object(os, "getpid", return_value=1),
        pytest.raises(RuntimeError, match=r"call get_many\(\) again here"),
    ):
        call.result()
    may_go.set()
    assert call.result()
