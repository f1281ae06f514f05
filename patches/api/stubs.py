"""Lazy responses of the generated asyncio transport, over the stubs that it has.

It keeps its stubs, and each gets a deserialiser that can be lazy. A second transport on the same
channel, as there is for the blocking client, would log each RPC twice, because every asyncio
transport adds its interceptor to the channel; and it would not know the user agent of the client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)
from google.cloud.datastore_v1.types import datastore as datastore_pb2

from lazyentity.codec.mode import is_eager
from lazyentity.patches.api.responses import LookupResponse, RunQueryResponse

_RESPONSES: dict[str, tuple[Any, Any]] = {
    "lookup": (datastore_pb2.LookupResponse, LookupResponse),
    "run_query": (datastore_pb2.RunQueryResponse, RunQueryResponse),
}
_LAZY_RESPONSES = frozenset(lazy for _, lazy in _RESPONSES.values())

_DESERIALIZER = "_response_deserializer"


def _deserializer(
    real: Callable[[bytes], Any], lazy: Callable[[bytes], Any], is_lazy: Callable[[], bool]
) -> Callable[[bytes], Any]:
    def deserialize(raw: bytes) -> Any:
        return lazy(raw) if is_lazy() else real(raw)

    return deserialize


def read_lazily(transport: Any, method: str, is_lazy: Callable[[], bool]) -> None:
    """Make the responses to a method lazy, from now on and for as long as that is asked for.

    A transport or a stub of somebody's own is left alone, and so is a deserialiser.

    Args:
        transport: that of a ``DatastoreAsyncClient``.
        method: ``"lookup"`` or ``"run_query"``.
        is_lazy: asked when a response has arrived.
    """
    if type(transport) is not DatastoreGrpcAsyncIOTransport:
        return
    stub = getattr(transport, method)
    real, lazy = _RESPONSES[method]
    # A stub of another version of grpc may keep it elsewhere. Responses are real messages then.
    if getattr(stub, _DESERIALIZER, None) == real.deserialize:
        setattr(stub, _DESERIALIZER, _deserializer(real.deserialize, lazy.deserialize, is_lazy))


async def awaited(rpc: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Send a read and let a lazy response remember whether that was inside ``eager()``."""
    eager = is_eager()
    response = await rpc(*args, **kwargs)
    return response.for_eager_rpc() if eager and type(response) in _LAZY_RESPONSES else response
