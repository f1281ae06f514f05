"""Lazy responses of the generated asyncio transport, over its own stubs.

Each stub gets a deserialiser that can be lazy. A second transport on the same channel, as the
blocking client has, would have two faults:

- it would log each RPC twice: every asyncio transport adds its interceptor to the channel;
- it would not know the user agent of the client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)
from google.cloud.datastore_v1.types import datastore as datastore_pb2

from lazyentity.patches.api.responses import LookupResponse, RunQueryResponse, read_by
from lazyentity.readers import reader_of_rpc

_RESPONSES: dict[str, tuple[Any, Any]] = {
    "lookup": (datastore_pb2.LookupResponse, LookupResponse),
    "run_query": (datastore_pb2.RunQueryResponse, RunQueryResponse),
}

_DESERIALIZER = "_response_deserializer"


def read_lazily(transport: Any, method: str, is_lazy: Callable[[], bool]) -> None:
    """Make the responses to a method lazy from now on, where ``is_lazy`` says so.

    Somebody's own transport, stub or deserialiser is left alone.

    Args:
        transport: the transport of a ``DatastoreAsyncClient``.
        method: ``"lookup"`` or ``"run_query"``.
        is_lazy: called when a response has arrived.
    """
    if type(transport) is not DatastoreGrpcAsyncIOTransport:
        return
    stub = getattr(transport, method)
    real, lazy = _RESPONSES[method]
    # Another version of grpc may keep the deserialiser elsewhere; responses are real then.
    if getattr(stub, _DESERIALIZER, None) == real.deserialize:
        setattr(stub, _DESERIALIZER, lambda raw: (lazy if is_lazy() else real).deserialize(raw))


async def awaited(rpc: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Send a read; a lazy response carries the reader that is chosen now."""
    reader = reader_of_rpc()
    return read_by(await rpc(*args, **kwargs), reader)
