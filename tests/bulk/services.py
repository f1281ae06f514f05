"""A Datastore in this process that records requests and refuses those that a test chooses."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from google.api_core.retry import Retry
from google.cloud import datastore

from lazyentity.bench.server.datastore import DatastoreService
from lazyentity.bench.server.errors import Refusal
from lazyentity.bench.server.grpc_frontend import start_grpc
from lazyentity.bench.server.http_frontend import start_http
from lazyentity.bench.server.schema import METHODS
from lazyentity.bulk.requests import RETRY
from tests.support.clients import close, make_client

FAST = Retry(predicate=RETRY._predicate, initial=0.001, maximum=0.001, deadline=5.0)
"""The policy of bulk calls, with short pauses."""

GIVES_UP = Retry(predicate=RETRY._predicate, initial=0.001, maximum=0.001, deadline=0.02)
"""The same, for tests of requests that always fail."""


class Call(NamedTuple):
    """A request that arrived."""

    method: str
    message: Any


def refusal(code: grpc.StatusCode) -> Refusal:
    """Return the error by which a service refuses a request."""
    return Refusal(code, f"refused with {code.name}")


class RecordingService(DatastoreService):
    """A Datastore.

    Attributes:
        calls: the requests that arrived.
        before: called with each request before it is answered, in the thread of the request; may
            raise the error to answer with.
        change: makes the serialised response from that of the service, by method.
        ended: projects whose requests are neither recorded nor answered: one that was cancelled
            can arrive after its client is closed.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls: list[Call] = []
        self.before: Callable[[Call], None] = lambda call: None
        self.change: dict[str, Callable[[bytes], bytes]] = {}
        self.ended: set[str] = set()

    def call(self, method: str, request: bytes, project: str = "") -> bytes:
        call = Call(method, METHODS[method][0].FromString(request))
        if call.message.project_id in self.ended:
            raise refusal(grpc.StatusCode.CANCELLED)
        self.calls.append(call)
        self.before(call)
        response = super().call(method, request, project)
        return self.change.get(method, bytes)(response)

    def forget(self) -> None:
        """Start anew: no requests, none refused."""
        self.calls.clear()
        self.before = lambda call: None
        self.change = {}

    def commits(self) -> list[Any]:
        """Return the commits, without their transactions: each has another one."""
        commits = [call.message for call in self.calls if call.method == "Commit"]
        for commit in commits:
            commit.ClearField("transaction_selector")
        return commits

    def sizes(self, method: str) -> list[int]:
        """Return how many keys or mutations each request of a method had."""
        field = "mutations" if method == "Commit" else "keys"
        return [len(getattr(call.message, field)) for call in self.calls if call.method == method]

    def refuse(self, code: grpc.StatusCode, times: int, method: str) -> None:
        """Refuse the next requests of a method."""
        left = [None] * times

        def before(call: Call) -> None:
            if call.method == method and left:
                left.pop()
                raise refusal(code)

        self.before = before

    def refuse_id(self, number: int) -> None:
        """Refuse each look-up and commit of an entity with an id."""

        def before(call: Call) -> None:
            mutations = getattr(call.message, "mutations", [])
            keys = [one.delete if one.HasField("delete") else one.upsert.key for one in mutations]
            if any(key.path[-1].id == number for key in keys or getattr(call.message, "keys", [])):
                raise refusal(grpc.StatusCode.INVALID_ARGUMENT)

        self.before = before

    def fail_applied_commits(self) -> None:
        """Answer two commits that are applied with errors that are sent again."""
        failures = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED]

        def apply_and_fail(response: bytes) -> bytes:
            if failures:
                raise refusal(failures.pop())
            return response

        self.change = {"Commit": apply_and_fail}

    def edit(self, method: str, change: Callable[[Any], object]) -> None:
        """Change the message of each response of a method."""

        def edited(response: bytes) -> bytes:
            message = type(METHODS[method][1]()).FromString(response)
            change(message)
            return bytes(message.SerializeToString())

        self.change = {method: edited}


class Served(NamedTuple):
    """A running service."""

    service: RecordingService
    ports: dict[str, int]


@contextmanager
def served(**options: Any) -> Iterator[Served]:
    """Run a service, on 127.0.0.1, with the options of :class:`DatastoreService`."""
    service = RecordingService(**options)
    grpc_server, grpc_port = start_grpc(service, 0)
    http_server, http_port = start_http(service, 0)
    try:
        yield Served(service, {"grpc": grpc_port, "http": http_port})
    finally:
        http_server.shutdown()
        http_server.server_close()
        grpc_server.stop(None).wait()


@contextmanager
def connected(to: Served, transport: str = "grpc", **options: Any) -> Iterator[datastore.Client]:
    """Give a stock client of a service."""
    client = make_client(to.ports[transport], transport, **options)
    try:
        yield client
    finally:
        close(client)


@contextmanager
def connected_to_new_project(
    to: Served, transport: str = "grpc", **options: Any
) -> Iterator[datastore.Client]:
    """Give a stock client whose requests are seen by this test alone, however late they come."""
    with connected(to, transport, project=f"p-{uuid.uuid4().hex}", **options) as client:
        yield client
    to.service.ended.add(client.project)


def stored(client: datastore.Client, kind: str, count: int) -> list[datastore.Key]:
    """Store entities of a kind with the property ``number``; return their keys."""
    entities = [datastore.Entity(client.key(kind, number + 1)) for number in range(count)]
    for number, entity in enumerate(entities):
        entity["number"] = number
    client.put_multi(entities)
    return [entity.key for entity in entities]


def ids_of(client: datastore.Client) -> list[int]:
    """Return the ids of the stored entities of kind ``Item``, in their order."""
    query = client.query(kind="Item")
    query.keys_only()
    return sorted(entity.key.id for entity in query.fetch())
