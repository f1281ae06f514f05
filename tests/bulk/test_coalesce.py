"""coalesce(): gets of several threads in one look-up, and the proxy of the client."""

from __future__ import annotations

import copy
import functools
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import BadRequest, Forbidden, RetryError
from google.cloud import datastore

import lazyentity
from lazyentity.bulk import coalesce, coalescing, delete_many, get_many, put_many, rpcs
from tests.bulk.gathering import Gathered, Held
from tests.bulk.services import RecordingService, stored
from tests.support.concurrency import together
from tests.support.describing import entity_types

Client = datastore.Client
Key = datastore.Key
_KIND = "Item"


def test_gets_go_together(
    any_client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """Found and missing keys, and keys that several ask for, who get separate entities."""
    keys = stored(any_client, _KIND, 4)
    coalesced: Any = coalesce(any_client)
    asked = [*keys[1:], any_client.key(_KIND, 99), keys[1], keys[1]]
    futures = gathered.get(coalesced, [keys[0], *asked])
    entities = [future.result() for future in futures]
    assert [entity and entity["number"] for entity in entities] == [1, 2, 3, None, 1, 1]
    assert entity_types(entities) == entity_types([any_client.get(keys[0])])
    assert len(set(map(id, entities))) == len(entities)
    assert service.sizes("Lookup")[:2] == [1, 4]


def test_a_lone_get_is_the_clients_own(client: Client, service: RecordingService) -> None:
    (key,) = stored(client, _KIND, 1)
    service.forget()
    coalesced: Any = coalesce(client)
    for _ in range(3):
        assert coalesced.get(key)["number"] == 0
    assert coalesced.get(client.key(_KIND, 99)) is None
    assert service.sizes("Lookup") == [1] * 4


def test_many_threads(any_client: Client, service: RecordingService) -> None:
    """Each gets what it asks for, in far fewer look-ups."""
    keys = stored(any_client, _KIND, 40)
    service.forget()
    coalesced: Any = coalesce(any_client)

    def get(number: int) -> list[int]:
        return [coalesced.get(keys[(number * 7 + turn) % 40])["number"] for turn in range(5)]

    for number, numbers in enumerate(together(40, get)):
        assert numbers == [(number * 7 + turn) % 40 for turn in range(5)]
    assert len(service.sizes("Lookup")) < 200
    assert sum(service.sizes("Lookup")) <= 200


def test_a_full_batch_goes_at_once(
    client: Client, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coalescing, "WAIT_SECONDS", 20)
    monkeypatch.setattr(coalescing, "MAX_KEYS", 3)
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    answered = threading.Barrier(4)

    def get(key: Key) -> None:
        # While the first look-up is still held up.
        coalesced.get(key)
        answered.wait(20)

    service.before = held = Held()
    service.calls.clear()
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(coalesced.get, keys[0])]
        held.is_held.wait(20)
        futures += [pool.submit(get, key) for key in keys[1:]]
        answered.wait(20)
        held.may_go.set()
        for future in futures:
            future.result(20)
    assert service.sizes("Lookup") == [1, 3]


def test_an_error_that_one_key_may_have_caused(
    client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """Each get is sent again by itself, so that the error goes to the one that is to blame."""
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    service.refuse_id(3)
    futures = gathered.get(coalesced, keys)
    assert futures[0].result()["number"] == 1
    assert isinstance(futures[1].exception(), BadRequest)
    assert futures[2].result()["number"] == 3
    assert service.sizes("Lookup") == [1, 3, 1, 1, 1]


def test_an_error_of_all(client: Client, service: RecordingService, gathered: Gathered) -> None:
    """It is raised by each, and the look-up is not repeated for each."""
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    service.refuse(grpc.StatusCode.PERMISSION_DENIED, 10, "Lookup")
    futures = gathered.get(coalesced, keys)
    assert all(isinstance(future.exception(), Forbidden) for future in futures)
    assert service.sizes("Lookup") == [1, 3]
    service.forget()
    assert coalesced.get(keys[0])["number"] == 0


def test_an_entity_that_cannot_be_converted(
    client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """Its error goes to who asked for it."""
    keys = stored(client, _KIND, 3)
    coalesced: Any = coalesce(client)

    def clear_the_second(message: Any) -> None:
        for result in message.found:
            if result.entity.key.path[-1].id == 2:
                result.entity.properties["number"].Clear()

    service.edit("Lookup", clear_the_second)
    futures = gathered.get(coalesced, keys)
    assert "did not have any value set" in str(futures[0].exception())
    assert futures[1].result()["number"] == 2


def test_inside_eager(client: Client, gathered: Gathered) -> None:
    """Callers inside eager() get stock entities, whoever asks at the same time."""
    keys = stored(client, _KIND, 3)
    coalesced: Any = coalesce(lazyentity.wrap(client))

    def eagerly() -> Any:
        with lazyentity.eager():
            return coalesced.get(keys[1])

    gets: list[Callable[[], Any]] = [
        eagerly,
        *(functools.partial(coalesced.get, key) for key in keys[1:]),
    ]
    types = [type(future.result()) for future in gathered.run(coalesced, keys[0], gets)]
    assert types == [datastore.Entity, lazyentity.LazyEntity, lazyentity.LazyEntity]


def test_gets_that_are_the_clients_own(
    client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """With options, in a transaction, or with keys that the client refuses."""
    (key,) = stored(client, _KIND, 1)
    coalesced: Any = coalesce(client)
    missing: list[Any] = []
    assert coalesced.get(client.key(_KIND, 99), missing=missing) is None
    del missing[:]
    assert coalesced.get(client.key(_KIND, 98), missing) is None
    assert [entity.key.id for entity in missing] == [98]
    assert coalesced.get(key, eventual=True)["number"] == 0
    with client.transaction() as transaction:
        assert coalesced.get(key)["number"] == 0
        assert service.calls[-1].message.read_options.transaction == transaction.id
    with pytest.raises(ValueError, match="Keys do not match project"):
        coalesced.get(Key(_KIND, 1, project="another"))
    with pytest.raises(BadRequest):
        coalesced.get(client.key(_KIND))


def _noting(client: Client, *args: Any, **options: Any) -> Any:
    return ["noted" for _ in Client.get_multi(client, *args, **options)]


class _Noting(Client):
    get_multi = _noting


@pytest.mark.parametrize("patches", [False, True])
@pytest.mark.parametrize("is_of_class", [False, True])
def test_a_method_of_its_own_is_called(client: Client, *, patches: bool, is_of_class: bool) -> None:
    """Of its class, or set on the client; while other look-ups are under way, too."""
    (key,) = stored(client, _KIND, 1)
    if patches:
        lazyentity.patch("datastore")
    if is_of_class:
        client.__class__ = _Noting
    else:
        vars(client)["get_multi"] = functools.partial(_noting, client)
    coalesced: Any = coalesce(client)
    assert together(8, lambda _: coalesced.get(key)) == ["noted"] * 8
    lazyentity.unpatch()


def test_the_rest_is_the_clients(client: Client) -> None:
    coalesced: Any = coalesce(client)
    keys = stored(coalesced, _KIND, 2)
    assert coalesced.project == client.project
    assert copy.copy(coalesced).get(keys[0])["number"] == 0
    with pytest.raises(AttributeError, match="nothing"):
        _ = coalesced.nothing


@pytest.mark.parametrize("is_iterator", [False, True])
def test_get_many(client: Client, *, is_iterator: bool) -> None:
    """The options of a wrapped client hold."""
    keys = stored(client, _KIND, 2)
    wrapped = lazyentity.wrap(client, prefetch=["number"], strict=True)
    given: Any
    for given in (wrapped, coalesce(wrapped), coalesce(coalesce(wrapped))):  # type: ignore[arg-type]  # a proxy is one
        for entity in get_many(given, iter(keys) if is_iterator else keys):
            assert isinstance(entity, lazyentity.LazyEntity)
            assert lazyentity.decoded(entity) == ("number",)


def test_writes(any_client: Client) -> None:
    coalesced: Any = coalesce(any_client)
    entities = [datastore.Entity(coalesced.key(_KIND, number)) for number in (1, 2)]
    put_many(coalesced, entities)
    delete_many(coalesced, entities[:1])
    assert get_many(any_client, [entity.key for entity in entities]) == [None, entities[1]]
    with coalesced.transaction(), pytest.raises(RuntimeError, match="outside of the transaction"):
        put_many(coalesced, entities)


def test_attributes_are_set_on_the_client(client: Client) -> None:
    coalesced: Any = coalesce(client)
    coalesced.namespace = "tenant"
    assert client.namespace == "tenant"
    assert coalesced.key(_KIND, 1).namespace == "tenant"
    coalesced.note = "mine"
    assert client.note == "mine"  # type: ignore[attr-defined]  # set above
    del coalesced.note
    assert not hasattr(client, "note")
    assert not hasattr(coalesced, "note")


def test_own_attributes_can_be_replaced(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tests of an application do: the client keeps its own."""
    (key,) = stored(client, _KIND, 1)
    coalesced: Any = coalesce(client)
    with monkeypatch.context() as patched:
        patched.setattr(coalesced, "get", lambda key: "another")
        assert coalesced.get(key) == "another"
        assert client.get(key)["number"] == 0
    assert coalesced.get(key)["number"] == 0


@pytest.mark.parametrize("is_final", [False, True])
def test_errors_of_a_look_up_are_each_callers_own(
    client: Client, gathered: Gathered, monkeypatch: pytest.MonkeyPatch, *, is_final: bool
) -> None:
    """They are equal, and their tracebacks have no frames of other threads."""
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    given: Any = Forbidden("refused") if is_final else RetryError("for long", Forbidden("refused"))

    def refuse(*_: object, **__: object) -> Any:
        raise given

    monkeypatch.setattr(rpcs.Rpcs, "look_up", refuse)
    futures = gathered.get(coalesced, keys)
    errors = [future.exception() for future in futures]
    assert len(set(map(id, [given, *errors]))) == 4
    for error in errors:
        assert type(error) is type(given)
        assert str(error) == str(given)
        assert error.__dict__ == given.__dict__
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert frames[-1] == "get"


def test_a_key_of_another_database(
    client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """Its get is sent alone, so that the look-up of others does not fail with it."""
    keys = stored(client, _KIND, 3)
    other = datastore.Key(_KIND, 1, project=client.project, database="another")
    coalesced: Any = coalesce(client)

    def get_both() -> Any:
        with pytest.raises(BadRequest):
            coalesced.get(other)
        return coalesced.get(keys[1])

    gets: list[Callable[[], Any]] = [get_both, functools.partial(coalesced.get, keys[2])]
    futures = gathered.run(coalesced, keys[0], gets)
    assert [future.result()["number"] for future in futures] == [1, 2]
    assert service.sizes("Lookup") == [1, 1, 2]
