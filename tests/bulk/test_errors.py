"""The errors of bulk calls, and collections that change while a call or a pickle reads them."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import pytest
import requests
from google.api_core.exceptions import BadRequest, RetryError
from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport

import lazyentity
from lazyentity.bulk import BulkError, delete_many, get_many, put_many
from tests.bulk.services import FAST, GIVES_UP, Call, RecordingService, Served, connected, stored
from tests.support.changing import acting, meanwhile

Client = datastore.Client
_KIND = "Item"


@pytest.mark.parametrize("is_final", [False, True])
def test_an_error_is_pickled(
    any_client: Client, service: RecordingService, *, is_final: bool
) -> None:
    """With its text, and once for all keys of a request; that of the service with its class."""
    keys = stored(any_client, _KIND, 3)
    code = grpc.StatusCode.INVALID_ARGUMENT if is_final else grpc.StatusCode.UNAVAILABLE
    service.refuse(code, 10_000, "Lookup")
    with pytest.raises(BulkError) as raised:
        get_many(any_client, keys, retry=GIVES_UP)
    error = raised.value
    assert isinstance(error.failed[keys[0]], BadRequest if is_final else RetryError)
    for made in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert str(made).startswith("3 keys failed and 0 succeeded")
        assert (made.done, made.count) == (error.done, error.count)
        assert list(made.failed) == keys
        assert len(set(map(id, made.failed.values()))) == 1
        (one, *_), (original, *_) = made.failed.values(), error.failed.values()
        assert str(original) in str(one)
        if is_final:
            assert isinstance(one, BadRequest)
            assert type(one) is type(original)


def test_timeouts_are_retried(any_client: Client, service: RecordingService) -> None:
    keys = stored(any_client, _KIND, 2)
    may_go = threading.Event()
    seen: set[str] = set()

    def hold_the_first(call: Call) -> None:
        if call.method not in seen:
            seen.add(call.method)
            may_go.wait(20)

    service.before = hold_the_first
    entities: list[Any] = get_many(any_client, keys, retry=FAST, timeout=0.3)
    assert [entity["number"] for entity in entities] == [0, 1]
    put_many(any_client, [datastore.Entity(keys[0])], retry=FAST, timeout=0.3)
    may_go.set()
    assert seen == {"Lookup", "Commit"}


@contextmanager
def _cutting(port: int, requests_cut: list[str]) -> Iterator[int]:
    """Run a proxy of a service that ends the connection within the first response."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Requests are not logged."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            response = requests.post(
                f"http://127.0.0.1:{port}{self.path}",
                data=body,
                headers={"Content-Type": self.headers["Content-Type"]},
                timeout=20,
            )
            self.send_response(response.status_code)
            self.send_header("Content-Type", response.headers["Content-Type"])
            self.send_header("Content-Length", str(len(response.content)))
            self.end_headers()
            is_cut = not requests_cut
            self.wfile.write(response.content[: 10 if is_cut else None])
            if is_cut:
                requests_cut.append(self.path)
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def test_cut_connections_are_retried(running: Served, client: Client) -> None:
    """Over HTTP; over gRPC they are the unavailability of the service."""
    keys = stored(client, _KIND, 2)
    cut: list[str] = []
    with _cutting(running.ports["http"], cut) as port:
        proxied = running._replace(ports={"http": port})
        with connected(proxied, "http", project=client.project) as made:
            entities: list[Any] = get_many(made, keys, retry=FAST)
    assert [entity["number"] for entity in entities] == [0, 1]
    assert len(cut) == 1


def _entities(client: Client, act: Callable[[list[Any]], object]) -> list[datastore.Entity]:
    """Return six entities; encoding the third calls a function with the list of them."""
    entities = [datastore.Entity(client.key(_KIND, number)) for number in range(1, 7)]
    entities[2]["at"] = acting(lambda: act(entities))
    return entities


@pytest.mark.parametrize(
    "act",
    [lambda entities: entities.pop(0), lambda entities: entities.clear()],
    ids=["the first goes", "all go"],
)
def test_encoding_changes_the_list(client: Client, act: Callable[[list[Any]], object]) -> None:
    """All entities that were given are written."""
    ids = list(range(1, 7))
    put_many(client, _entities(client, act))
    assert sorted(one.key.id for one in client.query(kind=_KIND).fetch()) == ids


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_the_list(client: Client, service: RecordingService) -> None:
    """Entities that are in the list all the time are read and written all the time."""
    keys = stored(client, _KIND, 150)
    entities: list[Any] = client.get_multi(keys)
    other = datastore.Entity(client.key(_KIND, 999))
    staying = set(range(1, 151))
    lists: list[tuple[list[Any], Any]] = [(entities, other), (keys, other.key)]

    def change(_turn: int) -> None:
        for given, one in lists:
            given.insert(0, one)
            given.remove(one)

    def call() -> None:
        for _ in range(8):
            found = {entity.key.id for entity in get_many(client, keys) if entity is not None}
            assert found >= staying
            service.forget()
            put_many(client, entities)
            sent = [one for call in service.calls for one in call.message.mutations]
            assert {one.upsert.key.path[-1].id for one in sent} >= staying

    meanwhile(change, call)


class _Recorder(grpc.UnaryUnaryClientInterceptor):
    def __init__(self) -> None:
        self.projects: list[str] = []

    def intercept_unary_unary(self, send: Callable[..., Any], details: Any, request: Any) -> Any:
        self.projects.append(request.project_id)
        return send(details, type(request)(request))


@pytest.mark.parametrize("is_patched", [False, True])
def test_requests_are_messages(running: Served, is_patched: bool) -> None:
    recorder = _Recorder()
    with connected(running) as client:
        channel = grpc.intercept_channel(client._datastore_api.transport.grpc_channel, recorder)
        transport = DatastoreGrpcTransport(channel=channel)
        client._datastore_api_internal = DatastoreClient(transport=transport)
        if is_patched:
            lazyentity.patch("datastore")
        try:
            keys = [client.key("Intercepted", number) for number in (1, 2)]
            put_many(client, [datastore.Entity(key) for key in keys])
            assert [entity.key for entity in get_many(client, keys)] == keys
            delete_many(client, keys)
        finally:
            lazyentity.unpatch()
    assert recorder.projects == [client.project] * 3
