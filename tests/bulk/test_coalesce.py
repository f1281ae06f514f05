"""coalesce(): gets of several threads in one look-up."""

from __future__ import annotations

import copy
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import BadRequest, Forbidden
from google.cloud import datastore

import lazyentity
from lazyentity.bench.server.schema import METHODS
from lazyentity.bulk import Coalesced, coalesce, coalescing, get_many
from tests.bulk.gathering import Gathered
from tests.bulk.services import Call, RecordingService, refusal, stored
from tests.support.concurrency import together
from tests.support.describing import entity_types
from tests.support.forks import answer

Client = datastore.Client
Key = datastore.Key

_KIND = "Item"


def _gets(coalesced: Coalesced, keys: Iterable[Key]) -> list[Callable[[], Any]]:
    return [functools.partial(coalesced.get, key) for key in keys]


def test_gets_go_together(
    any_client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """Found and missing keys, and keys that several ask for, which get entities of their own."""
    keys = stored(any_client, _KIND, 4)
    coalesced: Any = coalesce(any_client)
    asked = [*keys[1:], any_client.key(_KIND, 99), keys[1], keys[1]]
    futures = gathered.run(coalesced, keys[0], _gets(coalesced, asked))
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
    client: Client,
    service: RecordingService,
    gathered: Gathered,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coalescing, "MAX_KEYS", 3)
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    answered = threading.Barrier(4)

    def get(key: Key) -> None:
        # While the first look-up is still held up.
        coalesced.get(key)
        answered.wait(20)

    service.forget()
    is_held, may_go = threading.Event(), threading.Event()

    def hold_up(call: Call) -> None:
        if not is_held.is_set():
            is_held.set()
            may_go.wait(20)

    service.before = hold_up
    with ThreadPoolExecutor(4) as pool:
        held = pool.submit(coalesced.get, keys[0])
        is_held.wait(20)
        futures = [pool.submit(get, key) for key in keys[1:]]
        answered.wait(20)
        may_go.set()
        held.result(20)
        for future in futures:
            future.result(20)
    assert service.sizes("Lookup") == [1, 3]


def test_an_error_that_one_key_may_have_caused(
    client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """Each get is sent again by itself, so that the error goes to the one that is to blame."""
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)

    def refuse_the_third(call: Call) -> None:
        if any(key.path[-1].id == 3 for key in call.message.keys):
            raise refusal(grpc.StatusCode.INVALID_ARGUMENT)

    service.before = refuse_the_third
    futures = gathered.run(coalesced, keys[0], _gets(coalesced, keys[1:]))
    assert futures[0].result()["number"] == 1
    assert isinstance(futures[1].exception(), BadRequest)
    assert futures[2].result()["number"] == 3
    assert service.sizes("Lookup") == [1, 3, 1, 1, 1]


def test_an_error_of_all(client: Client, service: RecordingService, gathered: Gathered) -> None:
    """It is raised by each, and the look-up is not repeated for each."""
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    service.refuse(grpc.StatusCode.PERMISSION_DENIED, 10, "Lookup")
    futures = gathered.run(coalesced, keys[0], _gets(coalesced, keys[1:]))
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
    response_type = METHODS["Lookup"][1]

    def with_bare_value(response: bytes) -> bytes:
        message = response_type.FromString(response)
        for result in message.found:
            if result.entity.key.path[-1].id == 2:
                result.entity.properties["number"].Clear()
        return bytes(message.SerializeToString())

    service.change = {"Lookup": with_bare_value}
    futures = gathered.run(coalesced, keys[0], _gets(coalesced, keys[1:]))
    assert "did not have any value set" in str(futures[0].exception())
    assert futures[1].result()["number"] == 2


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_leader_that_is_interrupted(
    client: Client,
    service: RecordingService,
    gathered: Gathered,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gets that wait for it are sent by themselves, and later ones go together again."""
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)

    with monkeypatch.context() as patched:
        patched.setattr(coalescing._Batch, "look_up", _interrupt)
        futures = gathered.run(coalesced, keys[0], _gets(coalesced, keys[1:]))
    results = [future.exception() or future.result()["number"] for future in futures]
    assert sum(isinstance(result, KeyboardInterrupt) for result in results) == 1
    assert {result for result in results if isinstance(result, int)} < {1, 2, 3}
    assert coalesced._gathering == {}
    assert coalesced._under_way == set()


class _Interrupted:
    """The lock of a caller that a signal interrupts, before or after it is woken."""

    def __init__(self, lock: Any, *, is_woken: bool) -> None:
        self._lock = lock
        self._is_woken = is_woken
        self.release = lock.release

    def acquire(self, *_: object, **options: Any) -> None:
        if self._is_woken:
            self._lock.acquire(**options)
        raise KeyboardInterrupt


@pytest.mark.parametrize("is_woken", [False, True])
def test_a_caller_that_is_interrupted(
    client: Client, gathered: Gathered, monkeypatch: pytest.MonkeyPatch, *, is_woken: bool
) -> None:
    """The others get their entities, although each is woken by the one before it."""
    # So that nobody is helped by looking whether the batch has ended: futures are waited for less.
    monkeypatch.setattr(coalescing, "_CHECK_SECONDS", 60)
    keys = stored(client, _KIND, 6)
    coalesced: Any = coalesce(client)
    wait = coalescing._Batch.wait
    waiting = itertools.count()

    def interrupted(batch: Any, call: Any) -> None:
        if next(waiting) in (1, 2):
            call.is_over = _Interrupted(call.is_over, is_woken=is_woken)
        wait(batch, call)

    monkeypatch.setattr(coalescing._Batch, "wait", interrupted)
    futures = gathered.run(coalesced, keys[0], _gets(coalesced, keys[1:]))
    errors = [future.exception() for future in futures]
    assert sum(isinstance(error, KeyboardInterrupt) for error in errors) == 2
    assert [
        future.result()["number"]
        for future, error in zip(futures, errors, strict=True)
        if error is None
    ] == [number for number, error in enumerate(errors, 1) if error is None]


def test_callers_that_nobody_wakes(
    client: Client, gathered: Gathered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second signal may end the waking of callers. They look themselves, after a while."""
    monkeypatch.setattr(coalescing, "_CHECK_SECONDS", 0.01)
    monkeypatch.setattr(coalescing._Batch, "wake_next", lambda batch: None)
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    futures = gathered.run(coalesced, keys[0], _gets(coalesced, keys[1:]))
    assert [future.result()["number"] for future in futures] == [1, 2, 3]


def test_a_leader_that_is_interrupted_twice(
    client: Client, gathered: Gathered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its batch, from which it is not withdrawn, takes no more gets."""
    monkeypatch.setattr(coalescing, "_CHECK_SECONDS", 0.01)
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)

    with monkeypatch.context() as patched:
        patched.setattr(coalescing._Batch, "look_up", _interrupt)
        patched.setattr(Coalesced, "_withdraw", _interrupt)
        futures = gathered.run(coalesced, keys[0], _gets(coalesced, keys[1:]))
        for future in futures:
            future.exception(20)
    for number in range(4):
        assert coalesced.get(keys[number])["number"] == number
    for number, numbers in enumerate(together(4, lambda at: coalesced.get(keys[at])["number"])):
        assert numbers == number


_FORK = """
import copy, os, signal
from google.cloud.datastore.key import Key
from lazyentity.bulk import coalesce, coalescing

class Client:
    project, database, current_transaction = "p", None, None
    def get(self, key):
        return key.id

coalesced = copy.copy(coalesce(Client()))
coalesced._under_way.add(coalescing._Call())
coalesced._join(b"another", coalescing._Call(), False)
coalesced._lock.acquire()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(coalesced.get(Key("Kind", 7, project="p")))
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_others_wait() -> None:
    """A child process waits neither for look-ups of its parent nor for threads that it lacks."""
    assert answer("-c", _FORK) == 7


def test_inside_eager(client: Client, gathered: Gathered) -> None:
    """Callers inside eager() get stock entities, whoever asks at the same time."""
    keys = stored(client, _KIND, 3)
    coalesced: Any = coalesce(lazyentity.wrap(client))

    def eagerly() -> Any:
        with lazyentity.eager():
            return coalesced.get(keys[1])

    futures = gathered.run(
        coalesced,
        keys[0],
        [eagerly, lambda: coalesced.get(keys[1]), lambda: coalesced.get(keys[2])],
    )
    assert [type(future.result()).__name__ for future in futures] == [
        "Entity",
        "LazyEntity",
        "LazyEntity",
    ]


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


def test_the_rest_is_the_clients(client: Client) -> None:
    coalesced: Any = coalesce(client)
    keys = stored(coalesced, _KIND, 2)
    assert coalesced.project == client.project
    assert len(get_many(coalesced, keys)) == 2
    assert copy.copy(coalesced).get(keys[0])["number"] == 0
    with pytest.raises(AttributeError, match="nothing"):
        _ = coalesced.nothing
