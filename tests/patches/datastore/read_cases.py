"""Look-ups and queries of every form, and the ways in which they fail."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from typing import Any, Final
from unittest import mock

import grpc
import pytest
from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore import client as client_module
from google.cloud.datastore import helpers
from google.cloud.datastore import query as query_module
from google.cloud.datastore.query import And, Or, PropertyFilter
from google.cloud.datastore_v1.types import datastore as datastore_pb2

from tests.bulk.services import FAST, RecordingService
from tests.patches.datastore.activations import snapshot_of
from tests.support.clients import EXPLAINS
from tests.support.entities import fill

Client = datastore.Client
Read = Callable[[Client], Any]

KIND: Final = "Queried"
COUNT: Final = 7
AT_ONCE: Final = 3

# Lets through every error.
NEVER: Final = Retry(predicate=lambda error: False)

_TIME = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)


def _key(client: Client, number: int) -> Any:
    return client.key("Parent", 1, KIND, number)


def store(client: Client) -> None:
    """Store the entities that are read."""
    keys = [_key(client, number) for number in range(1, COUNT + 1)]
    client.put_multi([fill(datastore.Entity(key), key.id) for key in keys])


class TheirKey(datastore.Key):
    """A key of an application."""


_make_key: Any = TheirKey


def _keys(client: Client) -> list[Any]:
    return [_key(client, number) for number in range(COUNT + 2, 0, -1)]


def get(client: Client, **options: Any) -> Any:
    """Look up an entity."""
    return snapshot_of(client.get(_key(client, 1), **options))


def _get_multi(form: Callable[[list[Any]], Any] = list, **options: Any) -> Read:
    return lambda client: snapshot_of(client.get_multi(form(_keys(client)), **options))


def _with_missing(client: Client) -> Any:
    missing: list[Any] = []
    return snapshot_of(client.get_multi(_keys(client), missing=missing)), snapshot_of(missing)


def _with_deferred(client: Client) -> Any:
    deferred: list[Any] = []
    return snapshot_of(client.get_multi(_keys(client), deferred=deferred)), snapshot_of(deferred)


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


def fetch(client: Client, **options: Any) -> Any:
    """Query all entities."""
    return _pages(client.query(kind=KIND).fetch(**options))


def _fetch(**options: Any) -> Read:
    return lambda client: fetch(client, **options)


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
    return fetch(client, start_cursor=cursor(), limit=5), fetch(client, end_cursor=end)


def _items(client: Client) -> Any:
    iterator: Any = client.query(kind=KIND).fetch(limit=5)
    return [(snapshot_of(each), iterator.num_results, iterator.page_number) for each in iterator]


def _older_filters(client: Client) -> Any:
    query: Any = client.query(kind=KIND)
    with pytest.warns(UserWarning, match="positional"):
        query.add_filter("number", ">", 1)
    return _pages(query.fetch())


_SOME = PropertyFilter("number", ">", 1)

SENT_AS_BYTES: dict[str, Read] = {
    "get": get,
    "get of nothing": lambda client: client.get(client.key(KIND, 100)),
    "get with a function as retry": _tried_by_a_function(get),
    "get_multi of a list": _get_all,
    "get_multi of a tuple": _get_multi(tuple),
    "get_multi of a set": _get_multi(lambda keys: set(keys[-1:])),
    "get_multi of keys twice": _get_multi(lambda keys: keys[-2:] * 2),
    "get_multi by name": lambda client: snapshot_of(
        client.get_multi(keys=_keys(client), eventual=False, missing=None)
    ),
    "get_multi with options": _get_multi(retry=FAST, timeout=50),
    "get_multi in a batch": _in("batch", _get_all),
    "all": fetch,
    "one by one": _items,
    "limit": _fetch(limit=5),
    "no results": _fetch(limit=0),
    "cursors": _between_cursors,
    "options": _fetch(retry=FAST, timeout=50, offset=None),
    "a function as retry": _tried_by_a_function(fetch),
    "of another client": lambda client: _pages(client.query(kind=KIND).fetch(client=client)),
    "in a batch": _in("batch", fetch),
    "no kind": lambda client: _pages(client.query().fetch()),
    "no entities": _query(kind="None"),
    "a namespace": _query(namespace="n"),
    "an ancestor": lambda client: _query(ancestor=client.key("Parent", 1))(client),
    "filters": _query(filters=[_SOME, And([_SOME, Or([_SOME, _SOME])])]),
    "older filters": _older_filters,
    "by key": lambda client: _query(filters=[PropertyFilter("__key__", ">", _key(client, 3))])(
        client
    ),
    "order": _query(order=["-number", "parity"]),
    "keys": _query(projection=["__key__"]),
    "a projection": _query(projection=["number"], distinct_on=["number"], order=["number"]),
    "refused by the server": _query(order=["__key__", "number", ""]),
}
"""Reads whose requests are sent as bytes."""


def _of_project(project: Any) -> Read:
    def read(client: Client) -> Any:
        query = client.query(kind=KIND)
        vars(query)["_project"] = project
        return _pages(query.fetch())

    return read


def _explained(client: Client) -> Any:
    options: Any = datastore.ExplainOptions(analyze=True)
    iterator = client.query(kind=KIND, explain_options=options).fetch()
    found = snapshot_of(list(iterator))
    return found, iterator.explain_metrics.execution_stats.results_returned


SENT_BY_CLIENT: dict[str, Read] = {
    "get of another project": lambda client: client.get(datastore.Key(KIND, 1, project="other")),
    "get of another database": lambda client: client.get(
        datastore.Key(KIND, 1, project=client.project, database="other")
    ),
    "get_multi of none": _get_multi(lambda _: []),
    "get_multi of an iterator": _get_multi(iter),
    "get_multi of keys of a dict": _get_multi(lambda keys: dict.fromkeys(keys).keys()),
    "get_multi of no keys": _get_multi(lambda _: [1]),
    "get_multi of no collection": _get_multi(lambda _: 3),
    "get_multi of partial keys": lambda client: client.get_multi(
        [*_keys(client), client.key(KIND)]
    ),
    "get_multi of keys of a subclass": lambda client: snapshot_of(
        client.get_multi([_make_key("Parent", 1, KIND, 1, project=client.project)])
    ),
    "get_multi with missing": _with_missing,
    "get_multi with deferred": _with_deferred,
    "get_multi with missing that is filled": _get_multi(missing=[1]),
    "get_multi with deferred that is filled": _get_multi(deferred=[1]),
    "get_multi, eventual": _get_multi(eventual=True),
    "get_multi at a time": _get_multi(read_time=_TIME),
    "get_multi in a transaction": _in("transaction", _get_all),
    "get_multi, eventual, in a transaction": _in("transaction", _get_multi(eventual=True)),
    "get_multi in a given transaction": _in_given_transaction,
    "get_multi with an unknown option": _get_multi(nope=1),
    "skipped": _fetch(offset=5),
    "options by position": lambda client: _pages(client.query(kind=KIND).fetch(5, 1)),
    "eventual": _fetch(eventual=True),
    "a time": _fetch(read_time=_TIME),
    "both": _fetch(read_time=_TIME, eventual=True),
    "a transaction": _in("transaction", fetch),
    "a limit that is none": _fetch(limit="x"),
    "a large limit": _fetch(limit=2**31),
    "a cursor that is none": _fetch(start_cursor=b"x"),
    "a kind that is none": _query(kind=1),
    "a kind without an encoding": _query(kind="\ud800"),
    "an ancestor that is none": _query(ancestor=1),
    "an order that is none": _query(order=[1]),
    "a project that is none": _of_project(1),
    "a namespace that is none": _query(namespace=["n"]),
    "a value that is none": _query(filters=[PropertyFilter("number", "=", object())]),
    **({"explained": _explained} if EXPLAINS else {}),
}
"""Reads whose requests the client's own code makes, and errors that it raises."""


def theirs(*_: Any, **__: Any) -> Any:
    """Stand where an application puts a function."""
    raise ZeroDivisionError


def _replaced(holder: Any, name: str) -> Callable[[Client], Any]:
    return lambda _: mock.patch.object(holder, name, theirs)


def _of_api(name: str) -> Callable[[Client], Any]:
    return lambda client: mock.patch.object(client._datastore_api, name, theirs)


def _of_own_api(name: str) -> Callable[[Client], Any]:
    return lambda client: mock.patch.object(client._datastore_api_internal, name, theirs)


def _of_class(name: str) -> Callable[[Client], Any]:
    return lambda client: mock.patch.object(type(client._datastore_api).__mro__[1], name, theirs)


WHERE: dict[str, tuple[Read, Callable[[Client], Any]]] = {
    "get: the client's function": (get, _replaced(client_module, "_extended_lookup")),
    "get: the options of the RPC": (get, _replaced(client_module, "_make_retry_timeout_kwargs")),
    "get: the options": (get, _replaced(helpers, "get_read_options")),
    "get: the database": (get, _replaced(helpers, "set_database_id_to_request")),
    "get: the keys": (get, _replaced(datastore.Key, "to_protobuf")),
    "get: the conversion": (get, _replaced(helpers, "entity_from_protobuf")),
    "get: the API object": (get, _of_api("lookup")),
    "get: the client's API object": (get, _of_own_api("lookup")),
    "get: its class": (get, _of_class("lookup")),
    "query: the request": (fetch, _replaced(query_module.Iterator, "_build_protobuf")),
    "query: the response": (fetch, _replaced(query_module.Iterator, "_process_query_results")),
    "query: the page": (fetch, _replaced(query_module.Iterator, "_next_page")),
    "query: the query": (fetch, _replaced(query_module, "_pb_from_query")),
    "query: the API object": (fetch, _of_api("run_query")),
    "query: the client's API object": (fetch, _of_own_api("run_query")),
    "query: its class": (fetch, _of_class("run_query")),
}
"""Reads, and functions on their way that an application replaces."""


def _refusing(
    code: grpc.StatusCode, times: int, method: str = "RunQuery"
) -> Callable[[RecordingService], None]:
    return lambda service: service.refuse(code, times, method)


def _changing(change: Callable[[Any], None]) -> Callable[[RecordingService], None]:
    def changed(raw: bytes) -> bytes:
        response = datastore_pb2.RunQueryResponse.pb().FromString(raw)
        change(response)
        return bytes(response.SerializeToString())

    return lambda service: service.change.update(RunQuery=changed)


def _with_another_end(response: Any) -> None:
    response.batch.more_results = 77


def _explaining(response: Any) -> None:
    if EXPLAINS:
        response.explain_metrics.execution_stats.results_returned = 5


def _fetch_explained(client: Client) -> Any:
    iterator: Any = client.query(kind=KIND).fetch(limit=2)
    found = snapshot_of(list(iterator))
    metrics = getattr(iterator, "_explain_metrics", None)
    return found, metrics and metrics.execution_stats.results_returned


_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE

FAILURES: dict[str, tuple[Callable[[RecordingService], None], Read]] = {
    "get: unavailable": (
        _refusing(_UNAVAILABLE, 2, "Lookup"),
        lambda client: get(client, retry=FAST),
    ),
    "get: not tried again": (
        _refusing(_UNAVAILABLE, 2, "Lookup"),
        lambda client: get(client, retry=NEVER),
    ),
    "unavailable": (_refusing(_UNAVAILABLE, 2), _fetch(retry=FAST)),
    "not tried again": (_refusing(_UNAVAILABLE, 2), _fetch(retry=NEVER)),
    "deadline": (_refusing(grpc.StatusCode.DEADLINE_EXCEEDED, 9), _fetch(retry=NEVER)),
    "cancelled": (_refusing(grpc.StatusCode.CANCELLED, 9), fetch),
    "not found": (_refusing(grpc.StatusCode.NOT_FOUND, 9), fetch),
    "malformed": (
        lambda service: service.change.update(RunQuery=lambda raw: raw[:-1]),
        _fetch(retry=FAST),
    ),
    "an unknown end": (_changing(_with_another_end), fetch),
}
"""How a server fails, and reads of it."""
