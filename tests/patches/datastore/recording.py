"""The entities that are read, and the RPCs of a client as an interceptor sees them."""

from __future__ import annotations

from typing import Any, Final

import grpc
from google.api_core.gapic_v1.client_info import ClientInfo
from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport

from tests.bulk.services import Served
from tests.support.entities import fill

KIND: Final = "Queried"
COUNT: Final = 7
AT_ONCE: Final = 3

# The client announces types, but annotates no constructors.
_make_transport: Any = DatastoreGrpcTransport


def key_of(client: datastore.Client, number: int) -> Any:
    """Return the key of a stored entity."""
    return client.key("Parent", 1, KIND, number)


def store(client: datastore.Client) -> None:
    """Store the entities that are read."""
    keys = [key_of(client, number) for number in range(1, COUNT + 1)]
    client.put_multi([fill(datastore.Entity(key), key.id) for key in keys])


def intercept(running: Served, client: datastore.Client, interceptor: Any) -> None:
    """Give a client a channel with an interceptor, and headers of the application's own."""
    channel = grpc.insecure_channel(f"127.0.0.1:{running.ports['grpc']}")
    transport = _make_transport(
        channel=grpc.intercept_channel(channel, interceptor),
        client_info=ClientInfo(user_agent="theirs"),
    )
    client._datastore_api_internal = DatastoreClient(transport=transport)


class Recording(grpc.UnaryUnaryClientInterceptor):
    """Keeps what a client sends: the method, the headers, and the request as it is parsed."""

    def __init__(self, running: Served, client: datastore.Client) -> None:
        self.sent: list[Any] = []
        self.kinds: list[type] = []
        intercept(running, client, self)

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Keep a call, and send it."""
        kind = request.__class__
        parsed = kind.pb().FromString(kind.serialize(request))
        self.sent.append((details.method, list(details.metadata), details.timeout is None, parsed))
        self.kinds.append(type(request))
        return continuation(details, request)
