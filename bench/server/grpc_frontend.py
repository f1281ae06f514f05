"""The service over gRPC."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import grpc

from .errors import DatastoreError
from .schema import METHODS
from .service import DatastoreService

_THREADS = 16


def _handler(service: DatastoreService, method: str) -> grpc.RpcMethodHandler[bytes, bytes]:
    def handle(request: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            return service.call(method, request)
        except DatastoreError as error:
            context.abort(error.code, error.message)

    # Without serialisers gRPC hands bytes through in both directions.
    return grpc.unary_unary_rpc_method_handler(handle)


def start_grpc(service: DatastoreService, port: int) -> tuple[grpc.Server, int]:
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
    handlers = {method: _handler(service, method) for method in METHODS}
    generic = grpc.method_handlers_generic_handler("google.datastore.v1.Datastore", handlers)
    server.add_generic_rpc_handlers((generic,))
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, bound
