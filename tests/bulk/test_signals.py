"""get_many() and put_many(): exceptions of a signal handler, or of the iterator of the caller."""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bulk import get_many, put_many
from tests.bulk.services import Call, RecordingService, stored

pytestmark = [
    pytest.mark.usefixtures("requests_of_three"),
    pytest.mark.any_backend,
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers"),
]

Client = datastore.Client
Key = datastore.Key

_KIND = "Item"


class _Alarm(BaseException):
    """Raised by the signal handler."""


def _ring(*_: object) -> None:
    raise _Alarm


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the main thread after some seconds."""
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _Slow:
    """Requests that wait for the end of a test, and interrupt this thread when there are enough."""

    def __init__(self, service: RecordingService, enough: int = 0) -> None:
        self.may_go = threading.Event()
        self._enough, self._thread = enough, threading.get_ident()
        self._numbers = itertools.count(1)
        service.before = self

    def __call__(self, call: Call) -> None:
        if next(self._numbers) == self._enough:
            signal.pthread_kill(self._thread, signal.SIGALRM)
        self.may_go.wait(20)


def _count_after(service: RecordingService, slow: _Slow, method: str) -> int:
    """Let the requests go on, and return how many were sent in the end."""
    slow.may_go.set()
    # Further ones would follow at once.
    threading.Event().wait(0.3)
    return len(service.sizes(method))


def test_look_ups_that_no_thread_has_begun_are_left_out(
    client: Client, service: RecordingService
) -> None:
    keys = [client.key(_KIND, number) for number in range(1, 61)]
    slow = _Slow(service, enough=2)
    with _alarm(20), pytest.raises(_Alarm):
        get_many(client, keys, concurrency=2)
    assert _count_after(service, slow, "Lookup") == 2


def test_commits_that_no_thread_has_begun_are_left_out(
    client: Client, service: RecordingService
) -> None:
    entities = [datastore.Entity(client.key(_KIND, number)) for number in range(1, 61)]
    slow = _Slow(service, enough=2)
    with _alarm(20), pytest.raises(_Alarm):
        put_many(client, entities, concurrency=2)
    assert _count_after(service, slow, "Commit") == 2


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_stream_goes_on_after_a_signal(
    any_client: Client, service: RecordingService, concurrency: int
) -> None:
    """No entity is left out that was asked for when the signal came."""
    keys = stored(any_client, _KIND, 10)
    slow = _Slow(service)
    entities: Any = get_many(any_client, iter(keys), concurrency=concurrency)
    with _alarm(0.1), pytest.raises(_Alarm):
        next(entities)
    slow.may_go.set()
    assert [entity["number"] for entity in entities] == list(range(10))


class _Interrupted:
    """An iterator of keys that is interrupted once, and can be continued."""

    def __init__(self, keys: list[Key], at: int) -> None:
        self._keys = iter(keys)
        self._left = at

    def __iter__(self) -> _Interrupted:
        return self

    def __next__(self) -> Key:
        self._left -= 1
        if self._left == -1:
            raise _Alarm
        return next(self._keys)


@pytest.mark.parametrize("at", range(9))
def test_a_stream_goes_on_after_an_interruption_of_the_keys(client: Client, at: int) -> None:
    """No key is left out that was taken before, and no entity that was read."""
    keys = stored(client, _KIND, 8)
    entities: Any = get_many(client, _Interrupted(keys, at), concurrency=1)
    found: list[int] = []
    with pytest.raises(_Alarm):
        found.extend(entity["number"] for entity in entities)
    found.extend(entity["number"] for entity in entities)
    assert found == list(range(8))
