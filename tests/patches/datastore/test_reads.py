"""Look-ups and queries over sockets: requests, results and errors are the stock client's.

The forms of queries are generated in ``test_query_requests``, and what reads give is compared in
``tests/integration``; here is what decides who makes a request, and how it fails.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final
from unittest import mock

import grpc
import pytest
from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore import query as query_module
from google.cloud.datastore.query import PropertyFilter
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches.api.requests import LookupBytes, QueryBytes
from tests.bulk.services import FAST, RecordingService
from tests.patches.datastore.activations import (
    ACTIVATIONS,
    Activate,
    outcome_of,
    requests_made,
    snapshot_of,
)
from tests.patches.datastore.recording import COUNT, KIND, key_of
from tests.support.clients import EXPLAINS

Client = datastore.Client
Read = Callable[[Client], Any]

# Lets through every error.
NEVER: Final = Retry(predicate=lambda error: False)

_TIME = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)

of_each_activation = pytest.mark.parametrize("activate", ACTIVATIONS)


def _keys(client: Client) -> list[Any]:
    return [key_of(client, number) for number in range(COUNT + 2, 0, -1)]


def _get(client: Client, **options: Any) -> Any:
    return snapshot_of(client.get(key_of(client, 1), **options))


def _get_multi(form: Callable[[list[Any]], Any] = list, **options: Any) -> Read:
    return lambda client: snapshot_of(client.get_multi(form(_keys(client)), **options))


def _collecting(name: str) -> Read:
    def read(client: Client) -> Any:
        collected: list[Any] = []
        found = client.get_multi(_keys(client), **{name: collected})
        return snapshot_of(found), snapshot_of(collected)

    return read


_get_all = _get_multi()


def _tried_by_a_function(read: Callable[..., Any]) -> Read:
    """Return a read with a retry that is a function; it also gives how often that is called."""

    def counted(client: Client) -> Any:
        calls: list[Any] = []

        def retry(call: Any) -> Any:
            calls.append(None)
            return call

        return read(client, retry=retry), len(calls)

    return counted


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


def _fetching(**options: Any) -> Read:
    return lambda client: _fetch(client, **options)


def _query(**options: Any) -> Read:
    return lambda client: _pages(client.query(**{"kind": KIND, **options}).fetch())


def _in(how: str, read: Read) -> Read:
    def inside(client: Client) -> Any:
        with getattr(client, how)():
            return read(client)

    return inside


def _in_given_transaction(client: Client) -> Any:
    with client.transaction() as transaction:
        return _get_multi(transaction=transaction)(client)


def _between_cursors(client: Client) -> Any:
    def cursor() -> Any:
        iterator: Any = client.query(kind=KIND).fetch(limit=1)
        list(iterator)
        return iterator.next_page_token

    end = base64.urlsafe_b64encode(base64.urlsafe_b64decode(cursor()))
    return _fetch(client, start_cursor=cursor(), limit=5), _fetch(client, end_cursor=end)


def _items(client: Client) -> Any:
    iterator: Any = client.query(kind=KIND).fetch(limit=5)
    return [(snapshot_of(each), iterator.num_results, iterator.page_number) for each in iterator]


SENT_AS_BYTES: dict[str, Read] = {
    "get": _get,
    "get with a function as retry": _tried_by_a_function(_get),
    "get_multi of a list": _get_all,
    "get_multi of keys twice": _get_multi(lambda keys: keys[-2:] * 2),
    "get_multi with options": _get_multi(retry=FAST, timeout=50),
    "get_multi in a batch": _in("batch", _get_all),
    "all": _fetch,
    "one by one": _items,
    "cursors": _between_cursors,
    "options": _fetching(retry=FAST, timeout=50, offset=None),
    "a function as retry": _tried_by_a_function(_fetch),
    "of another client": lambda client: _pages(client.query(kind=KIND).fetch(client=client)),
    "in a batch": _in("batch", _fetch),
    "by key": lambda client: _query(filters=[PropertyFilter("__key__", ">", key_of(client, 3))])(
        client
    ),
    "refused by the server": _query(order=["__key__", "number", ""]),
}
"""Reads whose requests are sent as bytes."""


class _TheirKey(datastore.Key):
    """A key of an application."""


_make_key: Any = _TheirKey


def _explained(client: Client) -> Any:
    options: Any = datastore.ExplainOptions(analyze=True)
    iterator = client.query(kind=KIND, explain_options=options).fetch()
    found = snapshot_of(list(iterator))
    return found, iterator.explain_metrics.execution_stats.results_returned


SENT_BY_CLIENT: dict[str, Read] = {
    "get of another project": lambda client: client.get(datastore.Key(KIND, 1, project="other")),
    "get_multi of an iterator": _get_multi(iter),
    "get_multi of no keys": _get_multi(lambda _: [1]),
    "get_multi of partial keys": lambda client: client.get_multi(
        [*_keys(client), client.key(KIND)]
    ),
    "get_multi of keys of a subclass": lambda client: snapshot_of(
        client.get_multi([_make_key("Parent", 1, KIND, 1, project=client.project)])
    ),
    "get_multi with missing": _collecting("missing"),
    "get_multi with deferred": _collecting("deferred"),
    "get_multi, eventual": _get_multi(eventual=True),
    "get_multi at a time": _get_multi(read_time=_TIME),
    "get_multi in a transaction": _in("transaction", _get_all),
    "get_multi, eventual, in a transaction": _in("transaction", _get_multi(eventual=True)),
    "get_multi in a given transaction": _in_given_transaction,
    "get_multi with an unknown option": _get_multi(nope=1),
    "skipped": _fetching(offset=5),
    "eventual": _fetching(eventual=True),
    "a time": _fetching(read_time=_TIME),
    "both": _fetching(read_time=_TIME, eventual=True),
    "a transaction": _in("transaction", _fetch),
    "a limit that is none": _fetching(limit="x"),
    "a kind without an encoding": _query(kind="\ud800"),
    "an order that is none": _query(order=[1]),
    "a value that is none": _query(filters=[PropertyFilter("number", "=", object())]),
    **({"explained": _explained} if EXPLAINS else {}),
}
"""Reads whose requests the client's own code makes, and errors that it raises."""


def _outcome(service: RecordingService, client: Client, read: Read) -> tuple[Any, list[Any]]:
    return outcome_of(service, client, read, "Lookup", "RunQuery")


@pytest.fixture
def made() -> Iterator[list[Any]]:
    """The requests that are made of bytes."""
    requests: list[Any] = []
    with ExitStack() as stack:
        for kind, constructor in ((LookupBytes, "from_keys"), (QueryBytes, "from_query")):
            stack.enter_context(requests_made(kind, constructor, requests))
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


def test_a_method_of_somebodys_own(recorded: Client, made: list[Any]) -> None:
    """As a mock on the API object: it gets the client's own request."""
    lazyentity.patch("datastore")
    api = recorded._datastore_api
    for method, read in (("lookup", _get), ("run_query", _fetch)):
        with mock.patch.object(api, method, wraps=getattr(api, method)) as mocked:
            assert read(recorded)
        assert type(mocked.call_args.kwargs["request"]) is dict
    assert not made


_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def _refusing(
    code: grpc.StatusCode, times: int, method: str = "RunQuery"
) -> Callable[[RecordingService], None]:
    return lambda service: service.refuse(code, times, method)


def _answering(change: Callable[[bytes], bytes]) -> Callable[[RecordingService], None]:
    return lambda service: service.change.update(RunQuery=change)


def _with(**fields: int) -> Callable[[bytes], bytes]:
    """Return a function that sets fields of the batch in a response."""

    def change(raw: bytes) -> bytes:
        response = datastore_pb2.RunQueryResponse.pb().FromString(raw)
        for name, value in fields.items():
            setattr(response.batch, name, value)
        return bytes(response.SerializeToString())

    return change


ANSWERS: dict[str, tuple[Callable[[RecordingService], None], Read]] = {
    "get: unavailable": (
        _refusing(_UNAVAILABLE, 2, "Lookup"),
        lambda client: _get(client, retry=FAST),
    ),
    "get: not tried again": (
        _refusing(_UNAVAILABLE, 2, "Lookup"),
        lambda client: _get(client, retry=NEVER),
    ),
    "unavailable": (_refusing(_UNAVAILABLE, 2), _fetching(retry=FAST)),
    "deadline": (_refusing(grpc.StatusCode.DEADLINE_EXCEEDED, 9), _fetching(retry=NEVER)),
    "not found": (_refusing(grpc.StatusCode.NOT_FOUND, 9), _fetch),
    "malformed": (_answering(lambda raw: raw[:-1]), _fetching(retry=FAST)),
    "an unknown end": (_answering(_with(more_results=77)), _fetch),
    "skipped results": (_answering(_with(skipped_results=2)), _fetch),
}
"""How a server fails or answers, and reads of it."""


# proto-plus warns of values that an enum does not have.
@pytest.mark.filterwarnings("ignore:Unrecognized:UserWarning")
@of_each_activation
@pytest.mark.parametrize("name", ANSWERS)
def test_answers(
    recorded: Client, service: RecordingService, made: list[Any], activate: Activate, name: str
) -> None:
    """The errors, and how often a request is sent again; a look-up's is made once."""
    prepare, read = ANSWERS[name]

    def outcome(reading: Client) -> Any:
        service.forget()
        prepare(service)
        return _outcome(service, reading, read)

    stock = outcome(recorded)
    assert outcome(activate(recorded)) == stock
    assert len(made) == 1 or not name.startswith("get")
