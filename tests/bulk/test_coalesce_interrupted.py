"""coalesce(): exceptions that a signal handler raises, callers that nobody wakes, and forks."""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import CodeType, FrameType
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bulk import Coalesced, coalesce, coalescing
from tests.bulk.gathering import Gathered, Held
from tests.bulk.services import RecordingService, stored
from tests.support.concurrency import together
from tests.support.forks import answer

Client = datastore.Client
_KIND = "Item"


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


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
    futures = gathered.get(coalesced, keys)
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
    futures = gathered.get(coalesced, keys)
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
        futures = gathered.get(coalesced, keys)
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


_FUNCTIONS: list[Callable[..., Any]] = [
    Coalesced.get,
    Coalesced._join,
    Coalesced._lone,
    Coalesced._look_up,
    Coalesced._end_look_up,
    Coalesced._leave,
    Coalesced._withdraw,
]


def _lines(code: CodeType) -> list[int]:
    """Return the lines of a function's body."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return sorted(lines - {code.co_firstlineno})


def _interrupted_at(code: CodeType, line: int, get: Callable[[], Any]) -> BaseException | None:
    """Run a get that is interrupted when it first comes to a line; return its error."""
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code is not code:
            return None
        if event == "line" and frame.f_lineno == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        get()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
    return None


@pytest.mark.parametrize("role", ["alone", "leads", "follows"])
@pytest.mark.parametrize("function", _FUNCTIONS, ids=lambda function: function.__name__)
def test_at_every_line(
    client: datastore.Client,
    service: RecordingService,
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[..., Any],
    role: str,
) -> None:
    """Other threads get their entities, and the gets after them are joined or sent as before."""
    monkeypatch.setattr(coalescing, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(coalescing, "_CHECK_SECONDS", 0.02)
    keys = stored(client, _KIND, 5)
    code = function.__code__
    for line in _lines(code):
        coalesced: Any = coalesce(client)
        held = Held()
        service.before = held
        with ThreadPoolExecutor(5) as pool:
            others = []
            if role == "alone":
                held.is_held.set()
            else:
                others.append(pool.submit(coalesced.get, keys[0]))
                held.is_held.wait(20)
            if role == "follows":
                others.append(pool.submit(coalesced.get, keys[1]))
            get = functools.partial(coalesced.get, keys[2])
            pool.submit(_interrupted_at, code, line, get)
            others += [pool.submit(coalesced.get, key) for key in keys[3:]]
            threading.Timer(0.02, held.may_go.set).start()
            for other in others:
                assert other.result(10)["number"] in (0, 1, 3, 4)
        assert coalesced._under_way == set(), line
        assert all(batch.has_ended for batch in coalesced._gathering.values())
        service.forget()
        assert coalesced.get(keys[2])["number"] == 2
        assert service.sizes("Lookup") == [1]
