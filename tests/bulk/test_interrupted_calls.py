"""Bulk calls that a signal handler interrupts: its exception, and the requests after it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import ServiceUnavailable
from google.cloud import datastore

from lazyentity.bulk import delete_many, get_many, put_many
from tests.bulk.interrupting import Signalled, ended_threads, raised_by
from tests.bulk.services import FAST, Call, RecordingService, refusal, served
from tests.support import forks

pytestmark = [
    pytest.mark.usefixtures("requests_of_three"),
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
