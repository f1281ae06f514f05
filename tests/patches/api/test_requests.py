"""Reads and writes send the stock client's requests over the same connection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.api_core.exceptions import ServiceUnavailable
from google.api_core.retry import Retry, if_exception_type
from google.cloud import datastore
from google.cloud.datastore import _gapic

import lazyentity
from tests.patches.conftest import Make
from tests.patches.datastore.activations import LAZILY
from tests.patches.order_program import KIND

Client = datastore.Client

Sent = list[dict[str, Any]]


class _Recorder(grpc.UnaryUnaryClientInterceptor):
    """Keeps the requests sent over a gRPC channel; fails the first ``failures`` calls."""

    def __init__(self) -> None:
        self.sent: Sent = []
        self.failures = 0

    def intercept_unary_unary(self, send: Any, details: Any, request: Any) -> Any:
        if self.failures:
            self.failures -= 1
            # Nobody listens there: a real failure of a real call.
            with grpc.insecure_channel("127.0.0.1:1") as nowhere:
                call: Any = nowhere.unary_unary(details.method).with_call
                return call(b"", timeout=5)[1]
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


Send = Callable[[Client], object]


def _get(client: Client) -> object:
    return client.get(client.key(KIND, 1))


def _get_multi(client: Client) -> object:
    return client.get_multi([client.key(KIND, 1), client.key(KIND, "two")], eventual=True)


def _get_in_time(client: Client) -> object:
    return client.get(client.key(KIND, 1), timeout=17)


def _fetch(client: Client) -> object:
    return list(client.query(kind=KIND, order=["number"]).fetch(limit=2, offset=1))


def _fetch_in_time(client: Client) -> object:
    return list(client.query(kind=KIND).fetch(timeout=17))


# Entities have one property here: several are sent in any order.


def _entity(client: Client, *path: Any) -> datastore.Entity:
    entity = datastore.Entity(client.key(*path), exclude_from_indexes=("text",))
    entity["text"] = ["some", "text"]
    return entity


def _put(client: Client) -> object:
    return client.put(_entity(client, KIND, "put"))


def _put_in_time(client: Client) -> object:
    return client.put(_entity(client, KIND, "put"), timeout=17)


def _delete_multi(client: Client) -> object:
    return client.delete_multi([client.key(KIND, number) for number in (71, 72)])


def _batch(client: Client) -> None:
    with client.batch() as batch:
        batch.put(_entity(client, KIND, "put"))
        batch.put(_entity(client, "Parent", 1, KIND))
        batch.delete(client.key(KIND, 73))


@pytest.mark.parametrize("activate", LAZILY)
@pytest.mark.parametrize(
    "send",
    [
        *(_get, _get_multi, _get_in_time, _fetch, _fetch_in_time),
        *(_put, _put_in_time, _delete_multi, _batch),
    ],
)
def test_requests(
    sent: tuple[Client, Sent], send: Send, activate: Callable[[Client], Client]
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


@pytest.mark.parametrize("activate", LAZILY)
@pytest.mark.parametrize("read", ["get", "fetch"])
def test_retry_is_the_callers(
    client: Client, activate: Callable[[Client], Client], read: str
) -> None:
    """A retry that is passed to a read wraps the call that is sent."""
    wrapped: list[Any] = []

    def retry(call: Any) -> Any:
        wrapped.append(call)
        return call

    activated = activate(client)
    if read == "get":
        entity = activated.get(client.key(KIND, 1), retry=retry)
    else:
        (entity, *_) = activated.query(kind=KIND).fetch(retry=retry)
    assert type(entity) is lazyentity.LazyEntity
    assert len(wrapped) == 1


@pytest.mark.parametrize("transport", ["grpc"])
def test_failed_calls_are_retried(make: Make) -> None:
    """A read or a write that fails at first is sent again, and its entities are lazy."""
    recorder = _Recorder()

    def channel(target: str) -> Any:
        return grpc.intercept_channel(grpc.insecure_channel(target), recorder)

    with mock.patch.object(_gapic, "insecure_channel", channel):
        client = make()
        lazyentity.patch()
        recorder.failures = 2
        retry = Retry(predicate=if_exception_type(ServiceUnavailable), initial=0.01)
        entity = client.get(client.key(KIND, 1), retry=retry)
        assert recorder.failures == 0
        recorder.failures = 2
        client.put(entity, retry=retry)
    assert type(entity) is lazyentity.LazyEntity
    assert recorder.failures == 0
    assert len(recorder.sent) == 2
