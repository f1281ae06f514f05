"""Bulk calls that a signal handler interrupts: its exception, and the requests after it."""

from __future__ import annotations

import functools
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import ServiceUnavailable
from google.cloud import datastore

from lazyentity.bulk import delete_many, get_many, put_many
from tests.bulk.interrupting import Signalled, ended_threads, raised_by
from tests.bulk.services import FAST, Call, RecordingService, refusal, served, stored
from tests.fuzz.points import Points
from tests.support import forks

pytestmark = [
    pytest.mark.usefixtures("requests_of_three"),
    pytest.mark.any_backend,
    pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signals"),
]

Client = datastore.Client
_KIND = "Item"
_SOON = 1.5
"""Seconds: a call waits for half a second at a time."""


class _Limit(Exception):
    """As the soft time limits of task queues."""


class _Interrupt(BaseException):
    """As KeyboardInterrupt."""


# The latter two are errors of requests, too.
_ERRORS = [_Limit(), _Interrupt(), TimeoutError("by a handler"), ServiceUnavailable("by a handler")]

_CALLS: dict[str, Callable[..., object]] = {
    "get": lambda client, keys, **options: get_many(client, keys, **options),
    "stream": lambda client, keys, **options: list(get_many(client, iter(keys), **options)),
    "put": lambda client, keys, **options: put_many(
        client, list(map(datastore.Entity, keys)), **options
    ),
    "put stream": lambda client, keys, **options: put_many(
        client, map(datastore.Entity, keys), **options
    ),
    "delete": lambda client, keys, **options: delete_many(client, keys, **options),
}
any_call = pytest.mark.parametrize("call", _CALLS)
any_concurrency = pytest.mark.parametrize("concurrency", [1, 2])


def _method(call: str) -> str:
    return "Lookup" if call in ("get", "stream") else "Commit"


def _raised_by(
    call: str, client: Client, keys: list[Any], concurrency: int = 1
) -> BaseException | None:
    return raised_by(lambda: _CALLS[call](client, keys, concurrency=concurrency, retry=FAST))


@pytest.mark.parametrize("error", _ERRORS, ids=lambda error: type(error).__name__)
@any_call
def test_the_exception_is_raised(
    any_client: Client, service: RecordingService, call: str, error: BaseException
) -> None:
    """Itself, whatever its class, over each transport."""
    keys = [any_client.key(_KIND, number) for number in range(1, 10)]
    with Signalled(service, error, _method(call), at=2).handled():
        assert _raised_by(call, any_client, keys, 2) is error


@any_concurrency
@any_call
@pytest.mark.parametrize("any_client", ["stock"], indirect=True)
def test_a_server_that_hangs(
    any_client: Client, service: RecordingService, call: str, concurrency: int
) -> None:
    """The exception comes out soon, and no request is sent after it."""
    keys = [any_client.key(_KIND, number) for number in range(1, 31)]
    error = _Limit()
    signalled = Signalled(service, error, _method(call), at=concurrency, hangs=True)
    with signalled.handled():
        assert _raised_by(call, any_client, keys, concurrency) is error
        assert time.monotonic() - signalled.raised_at < _SOON
        assert len(service.sizes(_method(call))) == concurrency
    assert ended_threads()
    assert len(service.sizes(_method(call))) == concurrency


def test_a_signal_that_another_thread_gets(client: Client, service: RecordingService) -> None:
    """It does not wake the caller, which looks for it twice a second."""
    error = _Limit()
    may_go = threading.Event()

    def handle(*_: object) -> None:
        raise error

    def hold(_: Call) -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        may_go.wait(10)

    service.before = hold
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        began = time.monotonic()
        assert _raised_by("get", client, [client.key(_KIND, 1)]) is error
        assert time.monotonic() - began < _SOON
    finally:
        may_go.set()
        signal.signal(signal.SIGUSR1, before)


@any_concurrency
@any_call
def test_a_server_that_is_not_available(
    any_client: Client, service: RecordingService, call: str, concurrency: int
) -> None:
    """Requests are not sent again after the exception, and those that waited never."""
    keys = [any_client.key(_KIND, number) for number in range(1, 31)]
    error = _Limit()
    method = _method(call)
    service.refuse(grpc.StatusCode.UNAVAILABLE, 10_000, method)
    signalled = Signalled(service, error, method, at=5, holds=True)
    with signalled.handled():
        assert _raised_by(call, any_client, keys, concurrency) is error
        assert time.monotonic() - signalled.raised_at < _SOON
        # It holds the iterator, which could be read on.
        error.__traceback__ = None
        signalled.may_go.set()
        # Nobody is left to send any.
        assert ended_threads()
        # Each of the threads had at most one under way.
        assert len(service.sizes(method)) < 5 + concurrency
    service.forget()
    assert get_many(any_client, [any_client.key(_KIND, 1_000)]) == [None]


def _consume(entities: Iterator[Any], found: list[int]) -> None:
    for entity in entities:
        found.append(entity["number"])  # noqa: PERF401  # all before an exception


@any_concurrency
def test_each_point_of_a_stream(client: Client, concurrency: int) -> None:
    """Whichever point a handler raises at, reading on gives all entities that are left."""
    keys = stored(client, _KIND, 7)
    for at in itertools.count(1):
        found: list[int] = []
        error = _Limit()
        points = Points(error, at, ("/lazyentity/bulk/reading.py", "/lazyentity/bulk/calls.py"))
        entities: Any = get_many(client, iter(keys), concurrency=concurrency)
        consume = functools.partial(_consume, entities, found)
        with points.traced():
            raised = raised_by(consume)
        if points.is_raised:
            assert raised is error
        elif points.passed < at:
            break
        consume()
        assert found == list(range(7))
    assert at > 100


@any_concurrency
def test_a_stream_goes_on_after_a_signal(
    any_client: Client, service: RecordingService, concurrency: int
) -> None:
    """No entity is left out that was asked for when the signal came."""
    keys = stored(any_client, _KIND, 10)
    error = _Interrupt()
    entities: Any = get_many(any_client, iter(keys), concurrency=concurrency)
    with Signalled(service, error, "Lookup").handled():
        assert raised_by(lambda: next(entities)) is error
    assert [entity["number"] for entity in entities] == list(range(10))


def test_a_generator_is_over(client: Client, service: RecordingService) -> None:
    """The exception of a handler inside of it comes at once; the keys that it gave are read."""
    keys = stored(client, _KIND, 8)
    error = _Limit()
    service.forget()

    def handle(*_: object) -> None:
        raise error

    def generate() -> Iterator[Any]:
        yield from keys[:5]
        signal.raise_signal(signal.SIGUSR1)
        yield from keys[5:]

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        entities: Any = get_many(client, generate(), concurrency=1)
        assert [next(entities)["number"] for _ in range(3)] == [0, 1, 2]
        assert raised_by(lambda: next(entities)) is error
        # At once: before the look-up of the keys around it.
        assert service.sizes("Lookup") == [3]
        assert [entity["number"] for entity in entities] == [3, 4]
    finally:
        signal.signal(signal.SIGUSR1, before)


# If threads held it up, the process would go on for a minute.
_SECONDS = 30
_STATUS = 128 + signal.SIGINT
_PROGRAM = """
import os, signal, sys
from google.cloud import datastore
from lazyentity.bulk import get_many, put_many
from tests.support.clients import make_client

# It may be ignored by the program that started this one.
signal.signal(signal.SIGINT, signal.default_int_handler)
client = make_client(int(sys.argv[3]), sys.argv[2], project=f"p{os.getpid()}")
keys = [client.key("Item", number) for number in range(1, 6_001)]
try:
    if sys.argv[1] == "put":
        put_many(client, map(datastore.Entity, keys))
    else:
        get_many(client, keys)
except KeyboardInterrupt:
    print(128 + signal.SIGINT)
"""


@pytest.mark.parametrize("transport", ["grpc", "http"])
@pytest.mark.parametrize("hangs", [True, False], ids=["hangs", "unavailable"])
@pytest.mark.parametrize("call", ["get", "put"])
def test_ctrl_c_ends_the_process(call: str, transport: str, hangs: bool) -> None:
    """It ends long before the policy of retrying gives up, and its threads do not hold it up."""
    many_have_come, may_go = threading.Event(), threading.Event()
    # No more than a few come to a service that hangs.
    left = [None] * (5 if hangs and call == "get" else 9)
    processes: list[int] = []

    def before(arrived: Call) -> None:
        if left:
            left.pop()
        else:
            processes.append(int(arrived.message.project_id[1:]))
            many_have_come.set()
        if hangs:
            may_go.wait(120)
        raise refusal(grpc.StatusCode.UNAVAILABLE)

    with served() as running, ThreadPoolExecutor(1) as waiting:
        running.service.before = before
        arguments = call, transport, str(running.ports[transport])
        ending = waiting.submit(forks.answer, "-c", _PROGRAM, *arguments)
        try:
            assert many_have_come.wait(60)
            os.kill(processes[0], signal.SIGINT)
            assert ending.result(_SECONDS) == _STATUS
        finally:
            may_go.set()
            if processes and not ending.done():
                os.kill(processes[0], signal.SIGKILL)
