"""Streams that the reader's thread receives end, fail and are given up as gRPC's own do."""

from __future__ import annotations

import gc
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import DeadlineExceeded, GoogleAPICallError
from google.api_core.retry import Retry
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from grpc import _channel as grpc_channel

import lazyentity
from lazyentity.patches.firestore import streams
from lazyentity.patches.firestore.responses import QueryResponse
from tests.patches.firestore.conftest import EMULATOR_HOST, Make, Stopped, stopping
from tests.patches.firestore.describing import is_lazy, outcome
from tests.patches.firestore.documents import response_of
from tests.patches.firestore.server import serving

NEVER = Retry(predicate=lambda error: False)


pytestmark = pytest.mark.usefixtures("numbered")


def stub(client: Any) -> Any:
    """Return the method of a patched client that queries call."""
    transport = client._firestore_api.transport
    return transport._wrapped_methods[transport.run_query]._target.__wrapped__


def count(client: Any) -> int:
    """Read all documents; return how many there are."""
    return len(list(client.collection("things").stream()))


def test_streams_are_received_by_their_reader(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lazyentity.patch("firestore", strict=True)
    threads = []

    def record(raw: bytes) -> Any:
        threads.append(threading.get_ident())
        return QueryResponse.deserialize(raw)

    monkeypatch.setattr(stub(client), "_reader_of", lambda request: record)
    assert count(client) == 20
    assert threads == [threading.get_ident()] * 20


def test_streams_that_are_given_up(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is cancelled at once, and the channel forgets it when the next RPC is sent."""
    lazyentity.patch("firestore", strict=True)
    method = stub(client)
    for _ in range(3):
        assert next(iter(client.collection("things").stream())).id == "00"
        gc.collect()
        ((_, state, _),) = method._abandoned
        assert state.code is grpc.StatusCode.CANCELLED
        assert state.due
        assert client.document("things/01").get().exists
    taken = []
    handle = grpc_channel._handle_event

    def handled(event: Any, state: Any, read: Any) -> Any:
        taken.append(state)
        return handle(event, state, read)

    monkeypatch.setattr(grpc_channel, "_handle_event", handled)
    assert count(client) == 20
    assert not method._abandoned
    # Events of earlier streams were taken before.
    assert any(each is state for each in taken)
    assert not state.due


def test_a_channel_that_is_closed_after_a_stream_was_given_up(client: Any) -> None:
    def closed() -> Any:
        own: Any = firestore.Client(project="p", credentials=AnonymousCredentials())
        next(iter(own.collection("things").stream()))
        own._firestore_api_internal.transport.close()
        return outcome(lambda: count(own))

    stock = closed()
    lazyentity.patch("firestore", strict=True)
    assert closed() == stock
    assert stock[0] is ValueError


@pytest.mark.parametrize("at", ["message", "event"])
def test_a_signal_handler_that_raises(
    at: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its exception arrives as it is, and nobody waits for events that were lost with it."""
    lazyentity.patch("firestore", strict=True)
    method = stub(client)
    handle = grpc_channel._handle_event

    def reading(raw: bytes) -> Any:
        signal.raise_signal(signal.SIGINT)
        return QueryResponse.deserialize(raw)

    def handling(*args: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return handle(*args)

    with stopping(), monkeypatch.context() as replaced:
        if at == "message":
            replaced.setattr(method, "_reader_of", lambda request: reading)
        else:
            replaced.setattr(grpc_channel, "_handle_event", handling)
            # As if it were gRPC's own.
            replaced.setattr(method, "_functions", streams._functions())
        with pytest.raises(Stopped):
            count(client)
    gc.collect()
    assert len(method._abandoned) == (at == "message")
    assert count(client) == 20


def _malformed(request: bytes, context: Any) -> Iterator[bytes]:
    yield response_of({"a": 1})
    yield b"\x0a\xff"
    yield response_of({"a": 2})


def _failing(request: bytes, context: Any) -> Iterator[bytes]:
    yield response_of({"a": 1})
    context.set_trailing_metadata((("why", "because"),))
    context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")


def _waiting(request: bytes, context: Any) -> Iterator[bytes]:
    over = threading.Event()
    context.add_callback(over.set)
    over.wait(60)
    yield from ()


def test_a_stream_keeps_its_channel(make_side: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of threads that use a client first, each makes an API object, and all but one are dropped."""
    dropped = threading.Event()

    def answer(request: bytes, context: Any) -> Iterator[bytes]:
        yield response_of({"a": 1})
        dropped.wait(60)
        yield response_of({"a": 2})

    lazyentity.patch("firestore", strict=True)
    with serving({"RunQuery": grpc.unary_stream_rpc_method_handler(answer)}) as port:
        monkeypatch.setenv(EMULATOR_HOST, f"127.0.0.1:{port}")
        client = make_side().client
        stream = client.collection("things").stream()
        found = [next(stream)]
        client._firestore_api_internal = client._transport = None
        gc.collect()
        dropped.set()
        assert [each.get("a") for each in found + list(stream)] == [1, 2]


@pytest.mark.parametrize(
    ("answer", "found", "error"),
    [
        (_malformed, [{"a": 1}], GoogleAPICallError),
        (_failing, [{"a": 1}], GoogleAPICallError),
        (_waiting, [], DeadlineExceeded),
    ],
)
def test_errors_are_those_of_grpc(
    answer: Any, found: Any, error: Any, make_side: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind the error that the client makes of them."""
    with serving({"RunQuery": grpc.unary_stream_rpc_method_handler(answer)}) as port:
        monkeypatch.setenv(EMULATOR_HOST, f"127.0.0.1:{port}")
        client = make_side().client

        def failed() -> Any:
            read: list[Any] = []
            timeout = 0.1 if answer is _waiting else None
            stream = client.collection("things").stream(retry=NEVER, timeout=timeout)
            with pytest.raises(error) as caught:
                read.extend(each.to_dict() for each in stream)
            (cause,) = caught.value.errors
            told = cause.code(), cause.details(), cause.trailing_metadata(), cause.cancelled()
            kind = type(caught.value), str(caught.value)
            lines = traceback.format_exception_only(type(cause), cause)
            return read, kind, told, "".join(lines).partition("debug_error_string")[0]

        stock = failed()
        lazyentity.patch("firestore", strict=True)
        assert failed() == stock
        assert stock[0] == found
        assert stub(client)._single is not None


@pytest.mark.parametrize(
    ("holder", "name", "is_read_before"),
    [
        (grpc_channel._UnaryStreamMultiCallable, "__call__", False),
        (grpc_channel._UnaryStreamMultiCallable, "__call__", True),
        (grpc_channel._MultiThreadedRendezvous, "_next", False),
        (grpc_channel._MultiThreadedRendezvous, "_next", True),
        (grpc_channel.Channel, "unary_stream", False),
    ],
)
def test_replaced_functions_of_grpc_stay_in_charge(
    holder: Any, name: str, is_read_before: bool, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As monitoring tools replace them, also after a client has read."""
    if is_read_before:
        lazyentity.patch("firestore", strict=True)
        assert count(client) == 20
    original, called = getattr(holder, name), []

    def counted(*args: Any, **kwargs: Any) -> Any:
        called.append(name)
        return original(*args, **kwargs)

    monkeypatch.setattr(holder, name, counted)
    lazyentity.patch("firestore", strict=True)
    found = list(client.collection("things").stream())
    assert len(found) == 20
    assert all(map(is_lazy, found))
    assert called


class _OtherStreams(grpc_channel._SingleThreadedUnaryStreamMultiCallable):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("_SingleThreadedUnaryStreamMultiCallable", _OtherStreams),
        ("_SingleThreadedUnaryStreamMultiCallable", None),
        ("_handle_event", None),
        ("_MultiThreadedRendezvous", None),
    ],
)
def test_another_version_of_grpc(
    name: str, other: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads are lazy without a class or function of it, or with another class."""
    lazyentity.patch("firestore", strict=True)
    with monkeypatch.context() as changed:
        if other is None:
            changed.delattr(grpc_channel, name)
        else:
            changed.setattr(grpc_channel, name, other)
        method = stub(client)
    assert method._single is None
    assert all(map(is_lazy, client.collection("things").stream()))


def test_a_forked_process_gives_up_a_stream(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the RPC alone, which belongs to the first process."""
    lazyentity.patch("firestore", strict=True)
    stream = client.collection("things").stream()
    next(stream)
    method = stub(client)
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: 0)
        del stream
        gc.collect()
        assert not method._abandoned
    other = client.collection("things").stream()
    next(other)
    del other
    gc.collect()
    ((_, state, _),) = method._abandoned
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: 0)
        assert count(client) == 20
    assert state.due
    assert not method._abandoned
