"""Ending the requests that threads of a bulk call send, at once and for good."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport

from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.patches.api.requests import serialiser
from lazyentity.patches.api.transports import (
    LazyDatastoreClient,
    LazyDatastoreGrpcTransport,
    send_as,
)


class Cancelled(BaseException):
    """Ends a request. Policies of retrying catch every ``Exception``, and not this."""


class Cancellation:
    """Cancels the requests of some threads.

    No request begins after :meth:`cancel` has returned, and RPCs over gRPC that are under way are
    cancelled. A request over HTTP that is under way goes on to its end, without a further attempt.
    """

    def __init__(self) -> None:
        # The garbage collector may call cancel() in a thread that is inside of start().
        self._lock = threading.RLock()
        self._started: set[Any] = set()
        self._is_cancelled = False

    def cancel(self) -> None:
        """Cancel all requests, from any thread, any number of times."""
        with self._lock:
            self._is_cancelled = True
            started = list(self._started)
        for future in started:
            future.cancel()

    def check(self) -> None:
        """Check that a request may begin.

        Raises:
            Cancelled: if it may not.
        """
        if self._is_cancelled:
            raise Cancelled

    def finished(self, start: Callable[[], Any]) -> Any:
        """Start an RPC, and return its future when it has ended.

        Args:
            start: returns the future.

        Raises:
            Cancelled: it was cancelled here, before it began or later.
            grpc.RpcError: as the RPC raises it.
        """
        with self._lock:
            self.check()
            future = start()
            self._started.add(future)
        try:
            future.result()
        except grpc.FutureCancelledError:
            self.check()
            raise
        finally:
            self._started.discard(future)
        return future


_of_thread = threading.local()


@contextmanager
def cancelled_by(cancellation: Cancellation) -> Iterator[None]:
    """Let a cancellation end the requests that this thread sends inside."""
    _of_thread.cancellation = cancellation
    try:
        yield
    finally:
        del _of_thread.cancellation


def cancellation_of_thread() -> Cancellation | None:
    """Return the cancellation that ends the requests of this thread, if there is one."""
    return getattr(_of_thread, "cancellation", None)


class _InternalError(grpc.RpcError):
    """The error that grpc raises for a message that cannot be serialised or deserialised."""

    def __init__(self, details: str) -> None:
        super().__init__(details)
        self._details = details

    def code(self) -> Any:
        return grpc.StatusCode.INTERNAL

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[()]:
        return ()


class _UnaryUnary:
    """An RPC that another thread can cancel, or a signal handler of this one can interrupt.

    Only blocking calls can be made, as the generated client makes them. grpc converts messages
    inside of code that replaces every exception. So this does it. Interceptors of the application
    see requests: through these, grpc serialises.

    Args:
        channel: sends it.
        method: its full name.
        serialize: makes bytes of the request.
        deserialize: makes the response of bytes.
        arguments: further ones of the channel.
    """

    def __init__(
        self, channel: Any, method: str, serialize: Any, deserialize: Any, *arguments: Any
    ) -> None:
        serialise = serialiser(serialize)
        # A channel with interceptors is of another module.
        is_intercepted = type(channel).__module__ != "grpc._channel"
        self._serialize = (lambda request: request) if is_intercepted else serialise
        self._deserialize = deserialize
        self._rpc = channel.unary_unary(
            method, serialise if is_intercepted else None, None, *arguments
        )

    def __call__(self, *args: Any, **options: Any) -> Any:
        response, _ = self.with_call(*args, **options)
        return response

    def with_call(self, request: Any, *args: Any, **options: Any) -> Any:
        try:
            serialised = self._serialize(request)
        except Exception as error:
            raise_if_of_handler(error)
            raise _InternalError("Exception serializing request!") from error
        cancellation = cancellation_of_thread()
        if cancellation is None:
            raw, call = self._rpc.with_call(serialised, *args, **options)
        else:
            call = cancellation.finished(lambda: self._rpc.future(serialised, *args, **options))
            raw = call.result()
        try:
            return self._deserialize(raw), call
        except Exception as error:
            raise_if_of_handler(error)
            raise _InternalError("Exception deserializing response!") from error


class _Channel:
    """A channel of such RPCs; everything else is the given one's, which owns the connection."""

    # Of an object that is being copied.
    _channel: Any = None

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def unary_unary(
        self,
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        *arguments: Any,
    ) -> Any:
        return _UnaryUnary(
            self._channel, method, request_serializer, response_deserializer, *arguments
        )

    def close(self) -> None:
        """Leave the connection to the client, which goes on with it."""


# The transport takes nothing else.
grpc.Channel.register(_Channel)

_KEPT = "_lazyentity_cancellable"
_SENT = frozenset(("allocate_ids", "commit", "lookup"))
_KNOWN = {
    DatastoreClient: DatastoreGrpcTransport,
    LazyDatastoreClient: LazyDatastoreGrpcTransport,
}


def sends_bytes(api: Any) -> bool:
    """Whether :func:`cancellable` made an API object, which takes requests made of bytes."""
    return type(api) in _KNOWN and type(api.transport.grpc_channel) is _Channel


def cancellable(api: Any) -> Any:
    """Return an API object like the given one, on the same channel, whose RPCs can be cancelled.

    Only the API objects that a client makes over gRPC, and their lazy counterparts, have one.
    Anything else (HTTP, a mock, a subclass, an object with somebody's own method) is returned as it
    is.
    """
    transport = _KNOWN.get(type(api))
    if transport is None or type(api.transport) is not transport:
        return api
    attributes = vars(api)
    if not _SENT.isdisjoint(attributes):
        return api
    # Kept on the API object itself, as its lazy counterpart is.
    given = api.transport
    kept = attributes.get(_KEPT)
    if kept is None or kept[0] is not given:
        channel: Any = _Channel(given.grpc_channel)
        sending = transport(channel=channel)
        if not send_as(given, sending, _SENT):
            return api
        # Errors of authentication name them.
        sending._credentials = given._credentials
        made = copy.copy(api)
        made._transport = sending
        kept = attributes[_KEPT] = (given, made)
    return kept[1]
