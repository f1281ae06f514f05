"""Reads and writes send, and log, what the stock client does."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore import _gapic
from google.cloud.datastore.query import PropertyFilter
from google.cloud.datastore_v1.services.datastore.transports import grpc as grpc_transport

from tests.patches.conftest import Make
from tests.patches.datastore.activations import ACTIVATIONS, LAZILY, Activate
from tests.patches.order_program import COUNT, KIND, read

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
    "get in time": lambda client: client.get(client.key(KIND, 1), timeout=17),
    "get_multi": lambda client: client.get_multi(
        [client.key(KIND, 1), client.key(KIND, "two")], eventual=True
    ),
    "fetch in time": lambda client: list(client.query(kind=KIND).fetch(timeout=17)),
    "put in time": lambda client: client.put(_entity(client, KIND, "put"), timeout=17),
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


@pytest.fixture
def google_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The records of the ``google`` logger, set to DEBUG as its documentation says."""
    with caplog.at_level(logging.DEBUG, "google"):
        yield caplog


def _told(record: logging.LogRecord) -> Any:
    """Return everything that a record tells but versions and times, which differ."""
    payloads = []
    for kind in ("request", "response"):
        logged = vars(record).get(kind)
        payload = None if logged is None else json.loads(logged["payload"])
        if payload is not None:
            for part in (payload, payload.get("batch", {}), *payload.get("mutationResults", [])):
                for name in ("readTime", "commitTime", "updateTime", "version", "snapshotVersion"):
                    part.pop(name, None)
        payloads.append(payload)
    return record.name, record.getMessage(), vars(record).get("metadata"), payloads


@pytest.mark.skipif(
    not hasattr(grpc_transport, "_LoggingClientInterceptor"),
    reason="google-cloud-datastore logs RPCs since 2.21",
)
@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("transport", ["grpc"])
def test_records_are_those_of_the_stock_client(
    make: Make, google_log: pytest.LogCaptureFixture, stock_contents: Any, activate: Activate
) -> None:
    """All requests and responses, entities included, and nothing else, of reads and writes.

    Over gRPC; the client logs nothing of RPCs over HTTP.
    """

    def logged(activate: Activate) -> Any:
        google_log.clear()
        client = activate(make())
        result = read(client)
        assert result["contents"] == stock_contents
        entity, made = client.get(client.key(KIND, 1)), datastore.Entity(client.key("Logged", 2))
        entity.key = client.key("Logged", 1)
        for changed in (entity, made):
            changed["added"] = 1
        client.put_multi([entity, made])
        query = client.query(kind=KIND)
        query.add_filter(filter=PropertyFilter("number", "<", 0))
        assert list(query.fetch()) == []
        return result["classes"], list(map(_told, google_log.records))

    _, stock = logged(lambda client: client)
    assert any("Created client" in text for _, text, _, _ in stock)
    responses = [response for *_, (_, response) in stock if response]
    found = [result for response in responses for result in response.get("found", ())]
    queried = [response["batch"] for response in responses if "batch" in response]
    results = [*found, *(result for batch in queried for result in batch["entityResults"])]
    assert len(results) == 1 + COUNT + COUNT + 1
    assert all(result["entity"]["properties"]["number"] for result in results)
    (commit,) = [request for *_, (request, _) in stock if request and "mutations" in request]
    read_one, made_one = (each["upsert"]["properties"].keys() for each in commit["mutations"])
    assert read_one > made_one == {"added"}
    # The second time, the client is made while the process is patched.
    for _ in range(2):
        classes, lazy = logged(activate)
        assert lazy == stock
        assert classes == ["LazyEntity" if activate in LAZILY else "Entity"]
