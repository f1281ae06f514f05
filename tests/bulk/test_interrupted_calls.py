"""Bulk calls that a signal handler interrupts: its exception, and the requests after it."""

from __future__ import annotations

import functools
import gc
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
import requests
from google.api_core.exceptions import BadRequest, ServiceUnavailable
from google.cloud import datastore

from lazyentity.bulk import coalesce, coalescing, delete_many, get_many, put_many
from tests.bulk.interrupting import Signalled, ended_threads, raised_by
from tests.bulk.services import FAST, Call, RecordingService, stored
from tests.fuzz.points import Points

# A handler that raises while a connection is made, in the standard library, leaves its socket open.
_UNCLOSED = "ignore:unclosed:ResourceWarning"

pytestmark = [
    pytest.mark.usefixtures("requests_of_three"),
    pytest.mark.any_backend,
    pytest.mark.filterwarnings(_UNCLOSED),
    pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signals"),
]

Client = datastore.Client
_KIND = "Item"

_kept: list[Any] = []
"""The connections that were interrupted.

A handler that raises at the border of a lock of grpc leaves it locked by the main thread, with the
stock client, too. Another thread that frees the connection would wait for it.
"""


class _Limit(Exception):
    """As the soft time limits of task queues."""


class _Interrupt(BaseException):
    """As KeyboardInterrupt."""


_ERRORS = [
    _Limit(),
    _Interrupt(),
    TimeoutError("by a handler"),
    ServiceUnavailable("by a handler"),
    BadRequest("by a handler"),
    requests.exceptions.ConnectionError("by a handler"),
]


@pytest.fixture(scope="module", autouse=True)
def collect_sockets() -> Iterator[None]:
    """Before the tests of another module, in which an open socket is a failure."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def keep_connections(request: pytest.FixtureRequest) -> None:
    for name in {"client", "any_client"} & set(request.fixturenames):
        client = request.getfixturevalue(name)
        if client._use_grpc:
            _kept.append(client._datastore_api.transport.grpc_channel)


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
@any_concurrency
@any_call
def test_the_exception_is_raised(
    any_client: Client, service: RecordingService, call: str, concurrency: int, error: BaseException
) -> None:
    """Itself, whatever its class, over each transport, with and without threads."""
    keys = [any_client.key(_KIND, number) for number in range(1, 10)]
    with Signalled(service, error, _method(call), at=2).handled():
        assert _raised_by(call, any_client, keys, concurrency) is error


@any_call
def test_each_point_of_messages(any_client: Client, call: str) -> None:
    """Where requests are made and serialised: grpc replaces exceptions of what it calls."""
    keys = [any_client.key(_KIND, number) for number in range(1, 4)]
    within = ("/patches/api/requests.py", "/proto/message.py")

    def raised_at(point: int) -> BaseException | None:
        points = Points(_ERRORS[0], point, within)
        with points.traced():
            error = _raised_by(call, any_client, keys)
        return error if points.is_raised else _ERRORS[0]

    counted = Points(_ERRORS[0], 0, within)
    with counted.traced():
        assert _raised_by(call, any_client, keys) is None
    assert counted.passed
    raised = {at: raised_at(at) for at in range(1, counted.passed + 1)}
    assert {at: error for at, error in raised.items() if error is not _ERRORS[0]} == {}


@any_concurrency
@any_call
def test_a_server_that_hangs(
    client: Client, service: RecordingService, call: str, concurrency: int
) -> None:
    """RPCs under way are cancelled, and no other one is sent."""
    keys = [client.key(_KIND, number) for number in range(1, 31)]
    error = _Limit()
    signalled = Signalled(service, error, _method(call), at=concurrency, hangs=True)
    with signalled.handled():
        assert _raised_by(call, client, keys, concurrency) is error
        # They would wait for the server, which waits for the end of this block.
        assert ended_threads()
        assert len(service.sizes(_method(call))) == concurrency
    assert len(service.sizes(_method(call))) == concurrency


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
        signalled.may_go.set()
        # Nobody is left to send any.
        assert ended_threads()
        # Each of the threads had at most one under way.
        assert len(service.sizes(method)) < 5 + concurrency
    key = any_client.key(_KIND, 1_000)
    service.forget()
    assert get_many(any_client, [key]) == [None]


def _consume(entities: Iterator[Any], found: list[int]) -> None:
    for entity in entities:
        found.append(entity["number"])  # noqa: PERF401  # all before an exception


def _points_of_stream(
    client: Client, keys: list[Any], given: Callable[[], Iterator[Any]], concurrency: int
) -> Iterator[list[int]]:
    """Read a stream again and again, with an exception at each point of it in turn.

    Yields:
        The numbers of all entities that were read.
    """
    at = 0
    while True:
        at += 1
        found: list[int] = []
        error = _Limit()
        points = Points(error, at, ("/lazyentity/bulk/streams.py", "/lazyentity/bulk/windows.py"))
        entities: Any = get_many(client, given(), concurrency=concurrency)

        consume = functools.partial(_consume, entities, found)

        with points.traced():
            raised = raised_by(consume)
        if not points.is_raised:
            assert raised is None
            if points.passed < at:
                return
            # In a finalizer, where Python ignores it.
            continue
        assert raised is error
        consume()
        yield found


@any_concurrency
def test_each_point_of_a_stream(client: Client, concurrency: int) -> None:
    """Whichever point a handler raises at, reading on gives all entities that are left."""
    keys = stored(client, _KIND, 7)
    count = 0
    for found in _points_of_stream(client, keys, lambda: iter(keys), concurrency):
        assert found == list(range(7))
        count += 1
    assert count > 100


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


class _Resumed:
    """An iterator that goes on after an exception in its own code."""

    def __init__(self, keys: list[Any], error: BaseException, at: int) -> None:
        self._items = [*keys[:at], error, *keys[at:]]

    def __iter__(self) -> _Resumed:
        return self

    def __next__(self) -> Any:
        if not self._items:
            raise StopIteration
        item = self._items.pop(0)
        if isinstance(item, BaseException):
            raise item
        return item


@pytest.mark.parametrize("error", [OSError("once"), _Interrupt()])
@pytest.mark.parametrize("at", range(9))
@any_concurrency
def test_an_iterator_that_goes_on(
    client: Client, concurrency: int, at: int, error: BaseException
) -> None:
    """Its error comes after the entities before it, unless it ends programs; then the rest."""
    keys = stored(client, _KIND, 8)
    entities: Any = get_many(client, _Resumed(keys, error, at), concurrency=concurrency)
    found: list[int] = []
    consume = functools.partial(_consume, entities, found)
    assert raised_by(consume) is error
    assert found == list(range(at if isinstance(error, Exception) else len(found)))
    consume()
    assert found == list(range(8))


def test_keys_after_one_that_is_refused(client: Client) -> None:
    keys = stored(client, _KIND, 8)
    entities: Any = get_many(client, iter([*keys[:4], client.key(_KIND), *keys[4:], 1]))
    found: list[int] = []
    consume = functools.partial(_consume, entities, found)
    assert isinstance(raised_by(consume), ValueError)
    assert found == [0, 1, 2, 3]
    assert isinstance(raised_by(consume), TypeError)
    assert found == list(range(8))
    consume()
    assert found == list(range(8))


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
        assert raised_by(lambda: [next(entities) for _ in range(4)]) is error
        # At once: before the look-up of the keys around it.
        assert service.sizes("Lookup") == [3]
        assert [entity["number"] for entity in entities] == [0, 1, 2, 3, 4]
    finally:
        signal.signal(signal.SIGUSR1, before)


# Not over gRPC: see the comment on _kept.
@pytest.mark.parametrize("transport", ["http"])
@pytest.mark.parametrize("any_client", ["stock"], indirect=True)
@pytest.mark.parametrize("error", [_Limit(), BadRequest("by a handler")])
def test_a_coalesced_get_that_leads(
    any_client: Client,
    service: RecordingService,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    """Its caller alone gets the exception; those that wait for its look-up get their entities."""
    keys = stored(any_client, _KIND, 3)
    coalesced = coalesce(any_client)
    monkeypatch.setattr(coalescing, "WAIT_SECONDS", 60)
    service.forget()
    first_may_go = threading.Event()

    def hold_the_first(call: Call) -> None:
        if len(service.calls) == 1:
            first_may_go.wait(60)

    service.before = hold_the_first
    # The look-up of the batch.
    signalled = Signalled(service, error, "Lookup", at=2)

    def join() -> Any:
        # It joins the batch of the main thread, which then waits for the first get alone.
        while not coalesced._gathering:
            threading.Event().wait(0.001)
        return coalesced.get(keys[2])

    def let_go() -> None:
        while not any(len(batch.calls) == 2 for batch in [*coalesced._gathering.values()]):
            threading.Event().wait(0.001)
        first_may_go.set()

    with signalled.handled(), ThreadPoolExecutor(3) as pool:
        first = pool.submit(coalesced.get, keys[0])
        while not coalesced._under_way:
            threading.Event().wait(0.001)
        other, letting = pool.submit(join), pool.submit(let_go)
        assert raised_by(lambda: coalesced.get(keys[1])) is error
        letting.result(60)
        found: list[Any] = [first.result(60), other.result(60)]
    assert [entity["number"] for entity in found] == [0, 2]
    assert service.sizes("Lookup") == [1, 2, 1]
