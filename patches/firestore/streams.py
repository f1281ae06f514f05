"""Streams of responses that the thread of their reader receives.

gRPC receives the messages of a stream on a thread of the channel, which hands each one over to the
reader. That costs more than a small document. gRPC has an option for channels that lets the reader
receive; here it applies to the methods that stream documents, and to nothing else on the channel.

The client never hands such a stream out: applications see a generator around it.
"""

from __future__ import annotations

import functools
import operator
import os
from collections import deque
from collections.abc import Callable
from typing import Any

import grpc
from grpc import _channel, aio

from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.patches.upstream import is_upstream

# Types of gRPC's private classes come from elsewhere, and differ.
grpc_channel: Any = _channel
# Another gRPC may lack it, and then has its own streams.
_Rendezvous: Any = getattr(grpc_channel, "_SingleThreadedRendezvous", object)
_UnaryStream: Any = grpc.UnaryStreamMultiCallable
_AioUnaryStream: Any = aio.UnaryStreamMultiCallable

_EXPECTED = (grpc.RpcError, StopIteration)


class _Stream(_Rendezvous):  # type: ignore[misc]  # of Any
    """A stream of an RPC."""

    _read: Callable[[bytes], Any]
    # Keeps the channel alive, which gRPC closes with the last reference to it.
    _method: StreamingMethod
    _process: int
    _is_interrupted = False

    def __next__(self) -> Any:
        try:
            raw = self._next()
        except BaseException as error:
            # After a signal handler's exception, events may be lost for which nobody must wait.
            self._is_interrupted = not isinstance(error, _EXPECTED)
            raise
        try:
            return self._read(raw)
        except Exception as error:  # noqa: BLE001  # as gRPC does
            raise_if_of_handler(error)
            self._fail()
            raise self from None

    def _fail(self) -> None:
        """End as gRPC ends a stream with a malformed message."""
        # It is logged, too.
        grpc_channel._common.deserialize(b"", self._raise_malformed)
        with self._state.condition:
            details = "Exception deserializing response!"
            grpc_channel._abort(self._state, grpc.StatusCode.INTERNAL, details)

    @staticmethod
    def _raise_malformed(raw: bytes) -> Any:
        raise ValueError("malformed response")

    def __del__(self) -> None:
        if self._process != os.getpid():
            # Of the process that was forked: threads that this one lacks may hold locks of gRPC.
            return
        super().__del__()
        if self._state.due and not self._is_interrupted:
            # Otherwise the channel keeps what it knows of the RPC.
            self._method._abandoned.append((self._process, self._state, self._call))


class StreamingMethod(_UnaryStream, _AioUnaryStream):  # type: ignore[misc]  # of Any
    """A method of the API that streams documents: what makes its responses is chosen for each RPC.

    Args:
        transport: one of the client's, or of a subclass.
        path: the full name of the method.
        stub: the client's own.
        converters: the client's functions that make bytes of a request, and a response of bytes.
        reader_of: given a request, returns what makes the responses; None for the client's own.
    """

    def __init__(
        self,
        transport: Any,
        path: str,
        stub: Any,
        converters: tuple[Callable[[Any], bytes], Callable[[bytes], Any]],
        reader_of: Callable[[Any], Callable[[bytes], Any] | None],
    ) -> None:
        serialize, self._deserialize = converters
        self._stub, self._reader_of = stub, reader_of
        logged = logged_channel(transport)
        self._make = functools.partial(logged.unary_stream, path, request_serializer=serialize)
        self._stubs: dict[Callable[[bytes], Any], Any] = {}
        try:
            self._functions = _functions()
            self._single = _single(transport.grpc_channel, logged, path, serialize)
        except (AttributeError, TypeError):
            # An older or a newer gRPC.
            self._single = None
        self._abandoned: deque[Any] = deque()

    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        read = self._reader_of(request)
        # Somebody's own deserialiser stays in charge.
        if read is None or self._deserialize != getattr(
            self._stub, "_response_deserializer", self._deserialize
        ):
            return self._stub(request, *args, **kwargs)
        self._forget_abandoned()
        if self._single is None or not all(map(operator.is_, _functions(), self._functions)):
            if read not in self._stubs:
                self._stubs[read] = self._make(response_deserializer=read)
            return self._stubs[read](request, *args, **kwargs)
        try:
            stream = self._single(request, *args, **kwargs)
        except ValueError:
            # The channel is closed: the text of the error is the other method's.
            return self._stub(request, *args, **kwargs)
        stream._read, stream._method, stream._process = read, self, os.getpid()
        stream.__class__ = _Stream
        return stream

    def _forget_abandoned(self) -> None:
        """Take the last events of streams that nobody read to their end; they are cancelled."""
        while self._abandoned:
            try:
                process, state, call = self._abandoned.pop()
            except IndexError:
                # Another thread was faster.
                return
            if process != os.getpid():
                continue
            code = grpc_channel.cygrpc.StatusCode.cancelled
            call.cancel(code, "Cancelled upon garbage collection!")
            while state.due:
                for callback in grpc_channel._handle_event(call.next_event(), state, None):
                    callback()


# Error texts of gRPC and of the client, and tracebacks, have the name of gRPC's own.
_Stream.__name__ = _Stream.__qualname__ = "_MultiThreadedRendezvous"
_Stream.__module__ = grpc_channel.__name__


def logged_channel(transport: Any) -> Any:
    """Return the channel of a transport on which RPCs are logged, where the client logs them."""
    # Before 2.20.1 it does not.
    return getattr(transport, "_logged_channel", transport.grpc_channel)


def _single(channel: Any, logged: Any, path: str, serialize: Any) -> Any:
    """Return gRPC's method whose streams the reader receives; None, if others have a part in it."""
    if (
        type(channel) is not grpc_channel.Channel
        or (logged is not channel and not _adds_nothing(logged, channel))
        or grpc_channel.cygrpc.g_gevent_activated
        or not all(is_upstream(function, grpc_channel) for function in _functions())
    ):
        return None
    names = path.encode(), channel._target.encode()
    return grpc_channel._SingleThreadedUnaryStreamMultiCallable(
        channel._channel, *names, serialize, None, None
    )


def _adds_nothing(logged: Any, channel: Any) -> bool:
    interceptor = logged._interceptor
    return logged._channel is channel and not isinstance(
        interceptor, grpc.UnaryStreamClientInterceptor
    )


def _functions() -> tuple[Any, ...]:
    """Return the functions that gRPC would call: monitoring tools replace them to count RPCs."""
    return (
        grpc_channel.Channel.unary_stream,
        grpc_channel._UnaryStreamMultiCallable.__call__,
        grpc_channel._UnaryStreamMultiCallable.__init__,
        grpc_channel._MultiThreadedRendezvous._next,
        grpc_channel._Rendezvous.__next__,
        _Rendezvous._next,
        grpc_channel._handle_event,
        grpc_channel._abort,
    )
