"""Servers over gRPC."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from .datastore import DatastoreService
from .errors import Refusal
from .schema import METHODS

_THREADS = 64
"""A listener keeps one of them."""

Method = Callable[[Any, grpc.ServicerContext], Any]


def refusing(method: Method) -> Method:
    """End a call with the status of a refusal."""

    @functools.wraps(method)
    def call(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(request, context)
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))

    return call


def refusing_stream(method: Method) -> Method:
    """The same of a method that streams its responses."""

    @functools.wraps(method)
    def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from method(request, context)
        except Refusal as refusal:
            context.abort(refusal.code, str(refusal))

    return stream


def serve(service: str, methods: dict[str, Any], port: int) -> tuple[grpc.Server, int]:
    """Serve on 127.0.0.1; returns the running server and its port. ``port`` 0 takes a free one.

    Raises:
        RuntimeError: when the port cannot be bound.
    """
    server = grpc.server(
        ThreadPoolExecutor(_THREADS, thread_name_prefix="grpc"),
        options=[
            # Otherwise two servers may share a port, each answering some of the calls.
            ("grpc.so_reuseport", 0),
            # Commits of 500 large entities are more than the default of 4 MiB.
            ("grpc.max_receive_message_length", -1),
        ],
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, bound


def start_grpc(service: DatastoreService, port: int) -> tuple[grpc.Server, int]:
    """Serve Datastore, see :func:`serve`."""

    def handler(method: str) -> Any:
        # Without serialisers gRPC hands bytes through in both directions.
        return grpc.unary_unary_rpc_method_handler(
            refusing(lambda request, _context: service.call(method, request))
        )

    handlers = {method: handler(method) for method in METHODS}
    return serve("google.datastore.v1.Datastore", handlers, port)
