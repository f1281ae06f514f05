"""Reads that are sent as bytes: requests, results and errors are the stock client's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import query as query_module

import lazyentity
from lazyentity.patches.api.requests import LookupBytes, QueryBytes
from tests.bulk.services import RecordingService, Served, connected
from tests.patches.datastore.activations import (
    ACTIVATIONS,
    Activate,
    outcome_of,
    requests_made,
    snapshot_of,
)
from tests.patches.datastore.read_cases import (
    FAILURES,
    KIND,
    SENT_AS_BYTES,
    SENT_BY_CLIENT,
    Read,
    fetch,
)

Client = datastore.Client

pytestmark = pytest.mark.any_backend

of_each_activation = pytest.mark.parametrize("activate", ACTIVATIONS)


def _outcome(service: RecordingService, client: Client, read: Read) -> tuple[Any, list[Any]]:
    return outcome_of(service, client, read, "Lookup", "RunQuery")


@pytest.fixture
def made() -> Iterator[list[Any]]:
    """The requests that are made of bytes."""
    requests: list[Any] = []
    with ExitStack() as stack:
        for kind in (LookupBytes, QueryBytes):
            stack.enter_context(requests_made(kind, requests))
        yield requests


@pytest.mark.parametrize("name", SENT_AS_BYTES)
def test_as_stock(recorded: Client, service: RecordingService, made: list[Any], name: str) -> None:
    """The same requests, also for keys that the server deferred, entities, states and errors."""
    stock = _outcome(service, recorded, SENT_AS_BYTES[name])
    assert not made
    for activate in ACTIVATIONS:
        made.clear()
        assert _outcome(service, activate(recorded), SENT_AS_BYTES[name]) == stock, activate
        assert len(made) == len(stock[1]) > 0, activate
        lazyentity.unpatch()


@pytest.mark.parametrize("name", SENT_BY_CLIENT)
def test_by_the_client(
    recorded: Client, service: RecordingService, made: list[Any], name: str
) -> None:
    """The client's own code sends anything else, and raises its errors."""
    stock = _outcome(service, recorded, SENT_BY_CLIENT[name])
    for activate in ACTIVATIONS:
        assert _outcome(service, activate(recorded), SENT_BY_CLIENT[name]) == stock, activate
        assert not made, activate
        lazyentity.unpatch()


@of_each_activation
def test_options_by_position(
    recorded: Client, service: RecordingService, activate: Activate
) -> None:
    def read(client: Client) -> Any:
        keys = [client.key("Parent", 1, KIND, number) for number in range(9, 0, -1)]
        return snapshot_of(client.get_multi(keys, None, None))

    stock = _outcome(service, recorded, read)
    assert _outcome(service, activate(recorded), read) == stock


@of_each_activation
def test_a_named_database(
    running: Served, service: RecordingService, transport: str, made: list[Any], activate: Activate
) -> None:
    """Requests name the database and the namespace."""

    def read(client: Client) -> Any:
        keys = [client.key(KIND, "a", "Child", 1), client.key(KIND, 1)]
        return fetch(client), client.get_multi(keys)

    with connected(running, transport, database="named", namespace="n") as client:
        stock = _outcome(service, client, read)
        assert {request.database_id for request in stock[1]} == {"named"}
        assert _outcome(service, activate(client), read) == stock
    assert {type(request) for request in made} == {LookupBytes, QueryBytes}


class _TheirIterator(query_module.Iterator):
    """Pages of at most two."""

    def _build_protobuf(self) -> Any:
        built: Any = super()._build_protobuf()  # type: ignore[no-untyped-call]  # upstream is untyped
        built.limit = 2
        return built


def test_iterators_of_subclasses(recorded: Client, made: list[Any]) -> None:
    lazyentity.patch("datastore")
    iterator: Any = _TheirIterator(recorded.query(kind=KIND), recorded)  # type: ignore[no-untyped-call]  # as above
    assert next(iterator.pages).num_items == 2
    assert not made


@of_each_activation
def test_a_page_after_the_patch_is_gone(
    recorded: Client, service: RecordingService, activate: Activate
) -> None:
    """The next page is the client's."""

    def read(client: Client) -> Any:
        pages = client.query(kind=KIND).fetch().pages
        first = snapshot_of(list(next(pages)))
        lazyentity.unpatch()
        return [first, *(snapshot_of(list(page)) for page in pages)]

    stock = _outcome(service, recorded, read)
    assert _outcome(service, activate(recorded), read) == stock


@of_each_activation
@pytest.mark.parametrize("name", FAILURES)
def test_failures(
    recorded: Client, service: RecordingService, made: list[Any], activate: Activate, name: str
) -> None:
    """The errors, and how often a request is sent again; a look-up's is made once."""
    prepare, read = FAILURES[name]

    def outcome(reading: Client) -> Any:
        service.forget()
        prepare(service)
        return _outcome(service, reading, read)

    stock = outcome(recorded)
    assert outcome(activate(recorded)) == stock
    assert len(made) == 1 or not name.startswith("get")
