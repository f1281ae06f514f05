"""Exceptions of signal handlers are told apart from other errors, and Ctrl-C ends a call."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import grpc
import pytest

from lazyentity.codec.interruptions import error_of_handler, is_of_handler
from tests.bulk.interrupting import raised_by
from tests.bulk.services import Call, refusal, served
from tests.support import forks
from tests.support.concurrency import together

pytestmark = [
    pytest.mark.any_backend,
    pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signals"),
]


class _Alarm(Exception):
    """Raised by handlers."""


def _raise(*_: object) -> None:
    raise _Alarm


def _deleting(number: int, frame: object) -> None:
    del number, frame
    raise _Alarm


def _named(number: int, frame: object) -> None:
    raise _Alarm


class _Handlers:
    def method(self, number: int, frame: object) -> None:
        raise _Alarm

    def deleting(self, number: int, frame: object) -> None:
        del number, frame
        raise _Alarm

    def __call__(self, number: int, frame: object) -> None:
        raise _Alarm


def _nested(number: int, frame: object) -> None:
    _raise()


@pytest.fixture
def install() -> Iterator[Callable[[Any], object]]:
    before = signal.getsignal(signal.SIGUSR1)
    yield functools.partial(signal.signal, signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def _interrupted() -> BaseException:
    """Return the exception of the handler, which runs inside of a frame below this one."""
    error = raised_by(lambda: signal.raise_signal(signal.SIGUSR1))
    assert isinstance(error, _Alarm)
    return error


@pytest.mark.parametrize(
    "handler",
    [
        _raise,
        _deleting,
        _named,
        _nested,
        lambda *_: _raise(),
        functools.partial(lambda _extra, *_: _raise(), 1),
        _Handlers().method,
        _Handlers().deleting,
        _Handlers(),
        mock.Mock(side_effect=_Alarm),
    ],
)
def test_handlers(install: Callable[[Any], object], handler: Any) -> None:
    install(handler)
    error = _interrupted()
    assert is_of_handler(error)
    assert error_of_handler(error, None) is error


def test_a_handler_that_ends_itself(install: Callable[[Any], object]) -> None:
    """As those that let a second signal end the process."""

    def once(number: int, frame: object) -> None:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        raise _Alarm

    install(once)
    assert is_of_handler(_interrupted())


def _fail() -> None:
    int("no number")


def test_other_errors(install: Callable[[Any], object]) -> None:
    """Also those that are raised while the exception of a handler is handled."""
    install(_raise)
    error = raised_by(_fail)
    assert error is not None
    assert not is_of_handler(error)

    def fail_while_handling() -> None:
        try:
            signal.raise_signal(signal.SIGUSR1)
        except _Alarm:
            _fail()

    error = raised_by(fail_while_handling)
    assert isinstance(error, ValueError)
    assert not is_of_handler(error)
    handled = error.__context__
    assert error_of_handler(error, handled) is None
    assert error_of_handler(error, None) is handled


@pytest.mark.parametrize("is_copied", [False, True])
def test_an_error_in_place_of_it(install: Callable[[Any], object], is_copied: bool) -> None:
    """The exception itself is found, also if the other one has its traceback."""
    install(_raise)

    def replace() -> None:
        try:
            signal.raise_signal(signal.SIGUSR1)
        except _Alarm as alarm:
            error = OSError("in its place")
            raise error.with_traceback(alarm.__traceback__ if is_copied else None) from None

    error = raised_by(replace)
    assert isinstance(error, OSError)
    found = error_of_handler(error, None)
    assert type(found) is _Alarm
    assert found is error.__context__


def test_a_function_that_looks_at_its_caller() -> None:
    """A local variable is no argument."""

    def look() -> None:
        caller = sys._getframe(1)
        raise _Alarm(caller.f_lineno)

    error = raised_by(look)
    assert error is not None
    assert not is_of_handler(error)


def test_other_threads() -> None:
    """They run no handlers, whatever their tracebacks look like."""
    found: list[bool] = []

    def work() -> None:
        try:
            _named(1, sys._getframe())
        except _Alarm as error:
            found.append(is_of_handler(error))

    together(1, lambda number: work())
    assert found == [False]


# Without cancelling, the process goes on for a minute.
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
