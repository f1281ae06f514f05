"""Queries that are sent as bytes: requests, pages and errors are the stock client's."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore import query as query_module
from google.cloud.datastore.query import And, Or, PropertyFilter
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches.api.requests import QueryBytes
from tests.bulk.services import FAST, RecordingService, Served, connected, served
from tests.patches.datastore.activations import (
    ACTIVATIONS,
    Activate,
    outcome_of,
    requests_made,
    snapshot_of,
)
from tests.support.clients import EXPLAINS
from tests.support.entities import fill

Client = datastore.Client

pytestmark = pytest.mark.any_backend

KIND = "Queried"
COUNT = 7
_AT_ONCE = 3


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    """A server that gives at most three entities at once."""
    with served(batch_size=_AT_ONCE) as made, connected(made) as client:
        parent = client.key("Parent", 1)
        keys = [client.key(KIND, at + 1, parent=parent) for at in range(COUNT)]
        client.put_multi([fill(datastore.Entity(key), key.id) for key in keys])
        yield made


@pytest.fixture
def service(running: Served) -> RecordingService:
    running.service.forget()
    return running.service


@pytest.fixture
def client(running: Served, service: RecordingService, transport: str) -> Iterator[Client]:
    with connected(running, transport) as made:
        yield made


Read = Callable[[Client], Any]

_STATE = ("_end_cursor", "_more_results", "_skipped_results", "next_page_token", "num_results")


def _pages(iterator: Any) -> list[Any]:
    """Read all; return the entities of each page, and the iterator's state after each."""
    pages = []
    for page in iterator.pages:
        state = [getattr(iterator, name) for name in (*_STATE, "page_number")]
        pages.append((page.num_items, snapshot_of(list(page)), state))
    return [*pages, getattr(iterator, "_explain_metrics", None)]


def _fetch(client: Client, **options: Any) -> Any:
    return _pages(client.query(kind=KIND).fetch(**options))


def _in_batch(client: Client) -> Any:
    with client.batch():
        return _fetch(client)


def _cursor(client: Client) -> Any:
    iterator: Any = client.query(kind=KIND).fetch(limit=1)
    list(iterator)
    return iterator.next_page_token


def _between_cursors(client: Client) -> Any:
    end = base64.urlsafe_b64encode(base64.urlsafe_b64decode(_cursor(client)))
    return _fetch(client, start_cursor=_cursor(client), limit=5), _fetch(client, end_cursor=end)


def _items(client: Client) -> Any:
    iterator: Any = client.query(kind=KIND).fetch(limit=5)
    return [(snapshot_of(each), iterator.num_results, iterator.page_number) for each in iterator]


def _older_filters(client: Client) -> Any:
    query: Any = client.query(kind=KIND)
    with pytest.warns(UserWarning, match="positional"):
        query.add_filter("integer", ">", 1)
    return _pages(query.fetch())


def _unusual(**options: Any) -> Read:
    return lambda client: _pages(client.query(**{"kind": KIND, **options}).fetch())


_TIME = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
_SOME = PropertyFilter("integer", ">", 1)

SENT_AS_BYTES: dict[str, Read] = {
    "all": _fetch,
    "one by one": _items,
    "limit": lambda client: _fetch(client, limit=5),
    "no results": lambda client: _fetch(client, limit=0),
    "cursors": _between_cursors,
    "options": lambda client: _fetch(client, retry=FAST, timeout=50, offset=None),
    "of another client": lambda client: _pages(client.query(kind=KIND).fetch(client=client)),
    "in a batch": _in_batch,
    "no kind": lambda client: _pages(client.query().fetch()),
    "no entities": _unusual(kind="None"),
    "a namespace": _unusual(namespace="n"),
    "an ancestor": lambda client: _pages(
        client.query(kind=KIND, ancestor=client.key("Parent", 1)).fetch()
    ),
    "filters": _unusual(filters=[_SOME, And([_SOME, Or([_SOME, _SOME])])]),
    "older filters": _older_filters,
    "by key": lambda client: _pages(
        client.query(
            kind=KIND,
            filters=[PropertyFilter("__key__", ">", client.key("Parent", 1, KIND, 3))],
        ).fetch()
    ),
    "order": _unusual(order=["-integer", "string"]),
    "keys": _unusual(projection=["__key__"]),
    "a projection": _unusual(projection=["integer"], distinct_on=["integer"], order=["integer"]),
    "refused by the server": _unusual(order=["__key__", "integer", ""]),
}


def _in_transaction(client: Client) -> Any:
    with client.transaction():
        return _fetch(client)


def _of_project(client: Client, project: Any) -> Any:
    query = client.query(kind=KIND)
    vars(query)["_project"] = project
    return query


SENT_BY_CLIENT: dict[str, Read] = {
    "skipped": lambda client: _fetch(client, offset=5),
    "eventual": lambda client: _fetch(client, eventual=True),
    "a time": lambda client: _fetch(client, read_time=_TIME),
    "both": lambda client: _fetch(client, read_time=_TIME, eventual=True),
    "a transaction": _in_transaction,
    "a limit that is none": lambda client: _fetch(client, limit="x"),
    "a large limit": lambda client: _fetch(client, limit=2**31),
    "a cursor that is none": lambda client: _fetch(client, start_cursor=b"x"),
    "a kind that is none": _unusual(kind=1),
    "a kind without an encoding": _unusual(kind="\ud800"),
    "an ancestor that is none": _unusual(ancestor=1),
    "an order that is none": _unusual(order=[1]),
    "a project that is none": lambda client: _pages(_of_project(client, 1).fetch()),
    "a namespace that is none": _unusual(namespace=["n"]),
    "a value that is none": _unusual(filters=[PropertyFilter("integer", "=", object())]),
}


def _explained(client: Client) -> Any:
    options: Any = datastore.ExplainOptions(analyze=True)
    iterator = client.query(kind=KIND, explain_options=options).fetch()
    found = snapshot_of(list(iterator))
    return found, iterator.explain_metrics.execution_stats.results_returned


if EXPLAINS:
    SENT_BY_CLIENT["explained"] = _explained


def _outcome(service: RecordingService, client: Client, read: Read) -> tuple[Any, list[Any]]:
    return outcome_of(service, client, read, "RunQuery")


@pytest.fixture
def made() -> Iterator[list[Any]]:
    """The requests that are made of bytes."""
    with requests_made(QueryBytes) as requests:
        yield requests


@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("name", SENT_AS_BYTES)
def test_as_stock(
    client: Client, service: RecordingService, made: list[Any], activate: Activate, name: str
) -> None:
    """The same requests, entities, states of the iterator, and errors of the server."""
    read = SENT_AS_BYTES[name]
    stock = _outcome(service, client, read)
    assert not made
    assert _outcome(service, activate(client), read) == stock
    assert len(made) == len(stock[1]) > 0


@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("name", SENT_BY_CLIENT)
def test_by_the_client(
    client: Client, service: RecordingService, made: list[Any], activate: Activate, name: str
) -> None:
    """The client's own code sends anything else, and raises its errors."""
    read = SENT_BY_CLIENT[name]
    stock = _outcome(service, client, read)
    assert _outcome(service, activate(client), read) == stock
    assert not made


@pytest.mark.parametrize("activate", ACTIVATIONS)
def test_a_named_database(
    running: Served, service: RecordingService, transport: str, made: list[Any], activate: Activate
) -> None:
    """Requests name the database and the namespace."""
    with connected(running, transport, database="named", namespace="n") as client:
        stock = _outcome(service, client, _fetch)
        assert stock[1][0].partition_id.database_id == "named"
        assert _outcome(service, activate(client), _fetch) == stock
    assert made


def _theirs(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError


def _replaced(name: str) -> Callable[[Client], Any]:
    return lambda _: mock.patch.object(query_module.Iterator, name, _theirs)


_WHERE: dict[str, Callable[[Client], Any]] = {
    "the request": _replaced("_build_protobuf"),
    "the response": _replaced("_process_query_results"),
    "the page": _replaced("_next_page"),
    "the query": lambda _: mock.patch.object(query_module, "_pb_from_query", _theirs),
    "the API object": lambda client: mock.patch.object(client._datastore_api, "run_query", _theirs),
    "its class": lambda client: mock.patch.object(
        type(client._datastore_api).__mro__[1], "run_query", _theirs
    ),
}


@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("where", _WHERE)
def test_a_replaced_function_is_called(
    client: Client, made: list[Any], where: str, activate: Activate
) -> None:
    """Wherever an application puts one on the way."""
    reading = activate(client)
    assert _fetch(reading, limit=1)
    assert made
    made.clear()
    with _WHERE[where](reading), pytest.raises(ZeroDivisionError):
        _fetch(reading)
    assert not made
    _fetch(reading)
    assert made


@pytest.mark.parametrize("name", ["_build_protobuf", "_process_query_results"])
@pytest.mark.parametrize("activate", ACTIVATIONS)
def test_methods_of_an_iterator(
    client: Client, made: list[Any], activate: Activate, name: str
) -> None:
    iterator: Any = activate(client).query(kind=KIND).fetch()
    setattr(iterator, name, _theirs)
    with pytest.raises(ZeroDivisionError):
        list(iterator)
    assert not made


class _TheirIterator(query_module.Iterator):
    """Pages of at most two."""

    def _build_protobuf(self) -> Any:
        built: Any = super()._build_protobuf()  # type: ignore[no-untyped-call]  # upstream is untyped
        built.limit = 2
        return built


def test_iterators_of_subclasses(client: Client, made: list[Any]) -> None:
    lazyentity.patch("datastore")
    iterator: Any = _TheirIterator(client.query(kind=KIND), client)  # type: ignore[no-untyped-call]  # as above
    assert next(iterator.pages).num_items == 2
    assert not made


@pytest.mark.parametrize("activate", ACTIVATIONS)
def test_a_page_after_the_patch_is_gone(
    client: Client, service: RecordingService, activate: Activate
) -> None:
    """The next page is the client's."""

    def read(client: Client) -> Any:
        iterator = client.query(kind=KIND).fetch()
        pages = iterator.pages
        first = snapshot_of(list(next(pages)))
        lazyentity.unpatch()
        return [first, *(snapshot_of(list(page)) for page in pages)]

    stock = _outcome(service, client, read)
    assert _outcome(service, activate(client), read) == stock


def _refusing(code: grpc.StatusCode, times: int) -> Callable[[RecordingService], None]:
    return lambda service: service.refuse(code, times, "RunQuery")


def _cut(service: RecordingService) -> None:
    service.change["RunQuery"] = lambda raw: raw[:-1]


def _with_another_end(service: RecordingService) -> None:
    def change(raw: bytes) -> bytes:
        response = datastore_pb2.RunQueryResponse.pb().FromString(raw)
        response.batch.more_results = 77
        return bytes(response.SerializeToString())

    service.change["RunQuery"] = change


def _explaining(service: RecordingService) -> None:
    def change(raw: bytes) -> bytes:
        response = datastore_pb2.RunQueryResponse.pb().FromString(raw)
        if EXPLAINS:
            response.explain_metrics.execution_stats.results_returned = 5
        return bytes(response.SerializeToString())

    service.change["RunQuery"] = change


def _fetch_explained(client: Client) -> Any:
    iterator: Any = client.query(kind=KIND).fetch(limit=2)
    found = snapshot_of(list(iterator))
    metrics = getattr(iterator, "_explain_metrics", None)
    return found, metrics and metrics.execution_stats.results_returned


_FAILURES: dict[str, tuple[Callable[[RecordingService], None], Read]] = {
    "unavailable": (
        _refusing(grpc.StatusCode.UNAVAILABLE, 2),
        lambda client: _fetch(client, retry=FAST),
    ),
    "not tried again": (
        _refusing(grpc.StatusCode.UNAVAILABLE, 2),
        lambda client: _fetch(client, retry=Retry(predicate=lambda error: False)),
    ),
    "deadline": (
        _refusing(grpc.StatusCode.DEADLINE_EXCEEDED, 9),
        lambda client: _fetch(client, retry=Retry(predicate=lambda error: False)),
    ),
    "cancelled": (_refusing(grpc.StatusCode.CANCELLED, 9), _fetch),
    "not found": (_refusing(grpc.StatusCode.NOT_FOUND, 9), _fetch),
    "malformed": (_cut, lambda client: _fetch(client, retry=FAST)),
    "an unknown end": (_with_another_end, _fetch),
    "metrics that nobody asked for": (_explaining, _fetch_explained),
}


@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("name", _FAILURES)
def test_failures(client: Client, service: RecordingService, activate: Activate, name: str) -> None:
    """The errors, and how often a request is sent again."""
    prepare, read = _FAILURES[name]

    def outcome(reading: Client) -> Any:
        service.forget()
        prepare(service)
        return _outcome(service, reading, read)

    stock = outcome(client)
    assert outcome(activate(client)) == stock
