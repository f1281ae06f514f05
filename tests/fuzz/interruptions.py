"""Signal handlers that raise at random points of bulk calls.

A case runs a call twice against a server in this process: once to count the points at which CPython
may run a handler, and once with an exception at one of them. That exception leaves the call, and
the promises of :mod:`lazyentity.bulk` hold.

    python -m tests.fuzz.interruptions --seconds 60
"""

from __future__ import annotations

import faulthandler
import functools
import inspect
import itertools
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any
from unittest import mock

import click
import grpc
import requests
from google.api_core.exceptions import BadRequest, ServiceUnavailable
from google.cloud import datastore

import lazyentity
from lazyentity.bulk import coalesce, delete_many, get_many, put_many, reading, writing
from tests.bulk.services import FAST, Served, connected, served
from tests.fuzz import running
from tests.fuzz.points import Points

_KIND = "Item"
_MOST_KEYS = 9
_JOIN_SECONDS = 60
_HANG_SECONDS = 20
_TRANSPORTS = {"stock": "grpc", "wrapped": "grpc", "http": "http"}
_CLIENTS = tuple(_TRANSPORTS)
_READS = ("get list", "get iterator", "get generator", "lone")
_CALLS = (*_READS, "put list", "put iterator", "delete")
_SIGNAL_SECONDS = 0.02

# The caller, this project and what it calls. Not the connection: a handler that raises at the end
# of Condition.__enter__() leaves the condition locked, with the stock client, too. So signals of
# the system, which come at any time, get a separate connection, no RPC over gRPC in their
# thread, and wait for the end of such a method.
_TRACED = (
    *("/fuzz/interruptions.py", "/patches/", "/lazyentity/"),
    *("/google/api_core/retry/", "/google/cloud/datastore/"),
)
_METHODS_OF_LOCKS = frozenset(
    member.__code__ for member in vars(threading.Condition).values() if inspect.isfunction(member)
)
_TRACED_OF_LONE = ("/fuzz/interruptions.py", "/lazyentity/bulk/coalescing.py")


Raises = Callable[[Callable[[], object]], bool]
"""Calls a function that is interrupted; returns whether the exception came out of it."""


class _Interrupt(BaseException):
    """Raised by a handler, as KeyboardInterrupt is."""


class _Limit(Exception):
    """Raised by a handler, as the limits of task queues are."""


_KINDS: tuple[Callable[[], BaseException], ...] = (
    _Interrupt,
    _Limit,
    TimeoutError,
    functools.partial(BadRequest, "raised by a handler"),
    functools.partial(ServiceUnavailable, "raised by a handler"),
    functools.partial(requests.exceptions.ConnectionError, "raised by a handler"),
)


@dataclass(frozen=True)
class Case:
    """A call, and the exception that interrupts it.

    Attributes:
        client: one of :data:`_CLIENTS`.
        call: one of :data:`_CALLS`.
        keys: how many keys or entities.
        is_partial: whether the entities have no ids.
        size: keys or mutations in a request.
        concurrency: as of the calls.
        refused: how many requests the server refuses as unavailable before it answers.
        kind: the number of the kind of exception.
        place: of the point among all points, from 0 to 1.
        by_timer: whether the system sends a signal, at any time, in place of a chosen point.
    """

    client: str
    call: str
    keys: int
    is_partial: bool
    size: int
    concurrency: int
    refused: int
    kind: int
    place: float
    by_timer: bool


def _made(seed: int, number: int) -> Case:
    """Make a case."""
    chance = running.chance_of(seed, number)
    client, call = chance.choice(_CLIENTS), chance.choice(_CALLS)
    keys, size = chance.randint(0, _MOST_KEYS), chance.randint(1, 4)
    concurrency = chance.randint(1, 3)
    has_threads = concurrency > 1 and call != "lone" and (call != "get list" or keys > size)
    may_be_signalled = call != "lone" and (has_threads or client == "http")
    return Case(
        client=client,
        call=call,
        keys=keys,
        is_partial=chance.random() < 1 / 4,
        size=size,
        concurrency=concurrency,
        refused=chance.choice((0, 0, 1, 3)),
        kind=chance.randrange(len(_KINDS)),
        place=chance.random(),
        by_timer=may_be_signalled and chance.random() < 1 / 3,
    )


class _Runner:
    """Runs cases against a server of this process.

    Args:
        to: the server.
        clients: by the names in :data:`_CLIENTS`.
    """

    def __init__(self, to: Served, clients: dict[str, datastore.Client]) -> None:
        self._to = to
        self._service = to.service
        self._clients = clients
        self._runs = itertools.count()
        stock = clients["stock"]
        self._stored = [stock.key(_KIND, number + 1) for number in range(_MOST_KEYS)]
        stock.put_multi(map(_entity, range(_MOST_KEYS), self._stored))

    def check(self, case: Case) -> None:
        """Run a case.

        Raises:
            AssertionError: a promise was broken.
        """
        with ExitStack() as changed:
            changed.enter_context(mock.patch.object(reading, "MAX_KEYS", case.size))
            changed.enter_context(mock.patch.object(writing, "MAX_MUTATIONS", case.size))
            error = _KINDS[case.kind]()
            if case.by_timer:
                with connected(self._to, _TRANSPORTS[case.client]) as made:
                    client = lazyentity.wrap(made) if case.client == "wrapped" else made
                    self._run(client, case, _timer(error, case.place * _SIGNAL_SECONDS), error)
                return
            client = self._clients[case.client]
            # The client itself sends a lone get, and grpc replaces exceptions inside of it.
            within = _TRACED_OF_LONE if case.call == "lone" else _TRACED
            counted = Points(_Interrupt(), 0, within)
            self._run(client, case, counted.traced(), None)
            points = Points(error, 1 + int(case.place * counted.passed), within)
            is_raised = self._run(client, case, points.traced(), error)
            # Threads meet in another order, and a point may be missing.
            assert is_raised or not points.is_raised, "the exception is lost"
            # The client is as usable as before.
            absent, there = client.key(_KIND, 1_000), self._stored[0]
            assert _numbers(get_many(client, [there, absent, there])) == [0, None, 0]

    def _run(
        self,
        client: datastore.Client,
        case: Case,
        interrupted: AbstractContextManager[None],
        error: BaseException | None,
    ) -> bool:
        """Run the call of a case; return whether ``error`` came out of it."""
        self._service.forget()
        run = self._read if case.call in _READS else self._write
        is_raised = run(client, case, lambda call: _raises(call, interrupted, error))
        _join()
        self._service.forget()
        return is_raised

    def _refuse(self, case: Case) -> None:
        method = "Lookup" if case.call in _READS else "Commit"
        self._service.refuse(grpc.StatusCode.UNAVAILABLE, case.refused, method)

    def _read(self, client: datastore.Client, case: Case, raises: Raises) -> bool:
        keys = self._stored[: case.keys]
        expected: list[int | None] = list(range(case.keys))
        found: list[Any] = []
        if case.call == "lone":
            keys, expected = self._stored[:1], [0]
            get = functools.partial(coalesce(client).get, keys[0])
            is_raised = raises(lambda: found.append(get()))
            assert is_raised or _numbers(found) == expected
            return is_raised
        self._refuse(case)
        get_them = functools.partial(get_many, client, concurrency=case.concurrency, retry=FAST)
        if case.call == "get list":
            is_raised = raises(lambda: found.extend(get_them(keys)))
            assert _numbers(found) in ([], expected) if is_raised else _numbers(found) == expected
            return is_raised
        given = iter(keys) if case.call == "get iterator" else (key for key in keys)
        stream = get_them(given)
        is_raised = raises(lambda: _consume(stream, found))
        _consume(stream, found)
        # A generator that was interrupted itself is over, as is one in a loop of the caller's own.
        if is_raised and case.call == "get generator":
            assert _numbers(found) == expected[: len(found)]
        else:
            assert _numbers(found) == expected, "entities are lost"
        return is_raised

    def _write(self, client: datastore.Client, case: Case, raises: Raises) -> bool:
        # A new kind: a request that was cancelled may reach the server later.
        kind = f"Written{next(self._runs)}"
        ids = range(1, case.keys + 1)
        keys = [client.key(kind, *(() if case.is_partial else (number,))) for number in ids]
        entities = list(map(_entity, range(case.keys), keys))
        put = functools.partial(put_many, client, concurrency=case.concurrency, retry=FAST)
        if case.call == "delete":
            put(entities)
            delete = functools.partial(
                delete_many, client, concurrency=case.concurrency, retry=FAST
            )
            self._refuse(case)
            is_raised = raises(lambda: delete(iter(entities)))
            self._service.forget()
            assert is_raised or not self._numbers_of(kind)
            return is_raised
        given = entities if case.call == "put list" else iter(entities)
        self._refuse(case)
        is_raised = raises(lambda: put(given))
        self._service.forget()
        numbers = sorted(self._numbers_of(kind))
        assert len(numbers) == len(set(numbers)), "an entity is stored twice"
        assert is_raised or numbers == list(range(case.keys)), "entities are not written"
        return is_raised

    def _numbers_of(self, kind: str) -> list[int]:
        found = self._clients["stock"].query(kind=kind).fetch()
        return [entity["number"] for entity in found]


def _entity(number: int, key: datastore.Key) -> datastore.Entity:
    entity = datastore.Entity(key)
    entity["number"] = number
    return entity


def _numbers(entities: list[Any]) -> list[int | None]:
    return [None if entity is None else entity["number"] for entity in entities]


def _consume(stream: Iterable[Any], found: list[Any]) -> None:
    for entity in stream:
        found.append(entity)  # noqa: PERF402  # a call after each: a handler may run there


def _raises(
    call: Callable[[], object],
    interrupted: AbstractContextManager[None],
    error: BaseException | None,
) -> bool:
    """Whether a call that is interrupted raises ``error``; any other one passes through."""
    try:
        with interrupted:
            call()
    except BaseException as raised:
        if raised is not error:
            raise
        return True
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return False


@contextmanager
def _timer(error: BaseException, seconds: float) -> Iterator[None]:
    def ring(_number: int, interrupted: FrameType | None) -> None:
        if interrupted is not None and interrupted.f_code in _METHODS_OF_LOCKS:
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            return
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _join() -> None:
    """Wait for the threads of bulk calls, which end after an interruption."""
    for thread in threading.enumerate():
        # A handler that raised inside of start() leaves a thread that never begins, and stays here.
        if thread.name == "lazyentity-bulk" and thread.is_alive():
            thread.join(_JOIN_SECONDS)
            assert not thread.is_alive(), "a thread goes on"


@click.command()
@running.options
def main(seconds: float, seed: int, case: int | None, first: int) -> None:
    """Interrupt bulk calls, and check what they promise."""
    with ExitStack() as opened:
        to = opened.enter_context(served())
        stock = opened.enter_context(connected(to))
        clients = {
            "stock": stock,
            "wrapped": lazyentity.wrap(stock),
            "http": opened.enter_context(connected(to, "http")),
        }
        check = _Runner(to, clients).check

        def checked(made: Case) -> None:
            # A case that hangs takes no processor time, which alone is limited.
            faulthandler.dump_traceback_later(_HANG_SECONDS, exit=True)
            try:
                check(made)
            finally:
                faulthandler.cancel_dump_traceback_later()

        running.Fuzzer(
            "python -m tests.fuzz.interruptions", _made, checked, _compare, lambda case, _: case
        ).run(seconds, seed, case, first)


def _compare(case: Case, _: object) -> None:
    """Do nothing: a case checks itself."""


if __name__ == "__main__":
    main()
