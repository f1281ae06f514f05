"""Reads and writes send the stock client's requests over the same connection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore import _gapic

from tests.patches.conftest import Make
from tests.patches.datastore.activations import LAZILY, Activate
from tests.patches.order_program import KIND

Client = datastore.Client

Sent = list[dict[str, Any]]


class _Recorder(grpc.UnaryUnaryClientInterceptor):
    """Keeps the requests sent over a gRPC channel."""

    def __init__(self) -> None:
        self.sent: Sent = []

    def intercept_unary_unary(self, send: Any, details: Any, request: Any) -> Any:
        self.sent.append(
            {
                "method": details.method,
                # google-api-core takes off the time that has passed, from a millisecond on.
                "timeout": details.timeout and math.ceil(details.timeout),
                "metadata": sorted(details.metadata),
                "request": type(request).serialize(request),
            }
        )
        return send(details, request)


@pytest.fixture
def sent(make: Make, transport: str) -> Iterator[tuple[Client, Sent]]:
    """A client and its requests; used once, so that it is connected."""
    if transport == "grpc":
        recorder = _Recorder()

        def channel(target: str) -> Any:
            return grpc.intercept_channel(grpc.insecure_channel(target), recorder)

        with mock.patch.object(_gapic, "insecure_channel", channel):
            client = make(database="named", namespace="n")
            client.get(client.key(KIND, 1))
        recorder.sent.clear()
        yield client, recorder.sent
        return

    client = make(database="named", namespace="n")
    sending = client._http.request
    kept: Sent = []

    def request(**arguments: Any) -> Any:
        kept.append(arguments)
        return sending(**arguments)

    with mock.patch.object(client._http, "request", request):
        yield client, kept


# Entities have one property here: several are sent in any order.


def _entity(client: Client, *path: Any) -> datastore.Entity:
    entity = datastore.Entity(client.key(*path), exclude_from_indexes=("text",))
    entity["text"] = ["some", "text"]
    return entity


def _batch(client: Client) -> None:
    with client.batch() as batch:
        batch.put(_entity(client, KIND, "put"))
        batch.put(_entity(client, "Parent", 1, KIND))
        batch.delete(client.key(KIND, 73))


SEND: dict[str, Callable[[Client], object]] = {
    "get": lambda client: client.get(client.key(KIND, 1)),
    "get in time": lambda client: client.get(client.key(KIND, 1), timeout=17),
    "get_multi": lambda client: client.get_multi(
        [client.key(KIND, 1), client.key(KIND, "two")], eventual=True
    ),
    "fetch": lambda client: list(
        client.query(kind=KIND, order=["number"]).fetch(limit=2, offset=1)
    ),
    "fetch in time": lambda client: list(client.query(kind=KIND).fetch(timeout=17)),
    "put": lambda client: client.put(_entity(client, KIND, "put")),
    "put in time": lambda client: client.put(_entity(client, KIND, "put"), timeout=17),
    "delete_multi": lambda client: client.delete_multi(
        [client.key(KIND, number) for number in (71, 72)]
    ),
    "a batch": _batch,
}


@pytest.mark.parametrize("activate", LAZILY)
@pytest.mark.parametrize("send", SEND.values(), ids=SEND)
def test_requests(
    sent: tuple[Client, Sent], send: Callable[[Client], object], activate: Activate
) -> None:
    """Body, headers (routing, user agent, credentials), address and timeout are stock's."""
    client, requests = sent
    send(client)
    stock = [*requests]
    requests.clear()
    send(activate(client))
    assert len(stock) == 1
    assert requests == stock
    # Requests are routed by the database.
    assert "database_id=named" in str(stock)
