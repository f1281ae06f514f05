"""Queries that are sent as bytes have the client's requests and headers, for interceptors, too."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore.query import And, Or, PropertyFilter, Query
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from hypothesis import given
from hypothesis import strategies as st

import lazyentity
from lazyentity.patches.api.requests import QueryBytes
from tests.bulk.services import Served, connected
from tests.patches.datastore.activations import Activate, patched, patched_eagerly, snapshot_of
from tests.patches.datastore.read_cases import KIND, get
from tests.patches.datastore.recording import Recording, intercept

Client = datastore.Client

pytestmark = pytest.mark.any_backend

# The client announces types, but annotates no constructors.
_make_query: Any = Query

_TEXT = st.text(max_size=4)
_NAMES = st.sampled_from(["a", "b.c", "ä", "-", ""]) | _TEXT
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.datetimes()
    | st.binary(max_size=3)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
_FORMS = st.sampled_from(["=", "<", "<=", ">", ">=", "!=", "IN", "NOT_IN"])
_PROPERTY = st.builds(
    PropertyFilter, _NAMES.filter(lambda name: name != "__key__"), _FORMS, _VALUES
)
_FILTERS = st.recursive(
    _PROPERTY | st.tuples(_NAMES.filter(lambda name: name != "__key__"), _FORMS, _VALUES),
    lambda inner: (
        st.builds(And, st.lists(inner, max_size=2)) | st.builds(Or, st.lists(inner, max_size=2))
    ),
    max_leaves=4,
)
_CURSORS = st.none() | st.binary(max_size=4).map(base64.urlsafe_b64encode)
_IDS = st.integers(1, 2**62) | st.text(min_size=1, max_size=3)
_KEYS = st.builds(lambda kind, name: datastore.Key(kind, name, project="p"), _TEXT, _IDS)
_QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.none() | _TEXT,
        "namespace": st.none() | _TEXT,
        "project": st.none() | _TEXT,
        "ancestor": st.none() | _KEYS,
        "filters": st.lists(_FILTERS, max_size=3),
        "projection": st.lists(_NAMES, max_size=2),
        "order": st.lists(_NAMES | _NAMES.map("-{}".format), max_size=2),
        "distinct_on": st.lists(_NAMES, max_size=2),
    },
)
_FETCHES = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.none() | st.integers(0, 3) | st.sampled_from([2**31 - 1, -1]),
        "offset": st.sampled_from([None, 0]),
        "start_cursor": _CURSORS,
        "end_cursor": _CURSORS,
        "retry": st.none(),
        "timeout": st.none() | st.just(30),
    },
)


def _same(query: Any) -> Any:
    return query


def _outcome(
    client: Client, wrap: Callable[[Any], Any], query: dict[str, Any], options: dict[str, Any]
) -> Any:
    try:
        with warnings.catch_warnings():
            # Filters in an older form.
            warnings.simplefilter("ignore", UserWarning)
            return len(list(wrap(_make_query(client, **query)).fetch(**options)))
    except Exception as error:  # noqa: BLE001  # compared with the stock client's
        return type(error), str(error)


@pytest.mark.parametrize("database", [None, "", "named"])
def test_requests_and_headers(running: Served, database: str | None) -> None:
    """Each query is sent as stock sends it."""
    with connected(running, database=database) as client:
        recording = Recording(running, client)

        @given(_QUERIES, _FETCHES)
        def check(query: dict[str, Any], options: dict[str, Any]) -> None:
            recording.sent.clear()
            expected, stock = _outcome(client, _same, query, options), recording.sent.copy()
            recording.sent.clear()
            recording.kinds.clear()
            assert _outcome(client, lazyentity.wrap, query, options) == expected
            assert recording.sent == stock
            assert {*recording.kinds} <= {QueryBytes}

        check()


class _Counting(PropertyFilter):
    """Refuses to be built, and counts how often it is asked."""

    asked = 0

    def build_pb(self, container_pb: Any = None) -> Any:
        """Refuse."""
        type(self).asked += 1
        raise ZeroDivisionError


_make_counting: Any = _Counting


@pytest.mark.parametrize("form", [list, lambda each: [And(each)]])
def test_filters_are_asked_once(running: Served, form: Callable[[Any], list[Any]]) -> None:
    """Their errors are raised as they are."""
    filters = form([_make_counting("a", "=", 1)])
    with connected(running) as client:
        query = lazyentity.wrap(client).query(kind=KIND, filters=filters)
        _Counting.asked = 0
        with pytest.raises(ZeroDivisionError):
            list(query.fetch())
        assert _Counting.asked == 1


def test_a_change_is_sent(running: Served) -> None:
    """An interceptor may change the request."""

    class _Limiting(grpc.UnaryUnaryClientInterceptor):
        def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
            request.query.limit = 1
            return continuation(details, request)

    with connected(running) as client:
        intercept(running, client, _Limiting())
        page = next(lazyentity.wrap(client).query(kind=KIND).fetch().pages)
        assert page.num_items == 1


class _Answered:
    """The call of an RPC that an interceptor answered."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def result(self) -> Any:
        """Return the response."""
        return self._response


class _Answering(grpc.UnaryUnaryClientInterceptor):
    """Answers with responses of the client's own class, as one that caches or records may do."""

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Answer a call."""
        kind = getattr(datastore_pb2, details.method.rpartition("/")[2] + "Response")
        return _Answered(kind.deserialize(kind.serialize(continuation(details, request).result())))


WAYS: dict[str, Activate] = {
    "patched": patched,
    "patched, eager": patched_eagerly,
    "wrapped": lazyentity.wrap,
    "wrapped, prefetch": lambda client: lazyentity.wrap(client, prefetch=["number"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_interceptor_that_answers(running: Served, way: str) -> None:
    """Its response is not lazy."""

    def read(client: Client) -> Any:
        keys = [client.key("Parent", 1, KIND, number) for number in (1, 2, 3)]
        return get(client), snapshot_of([*client.get_multi(keys), *client.query(kind=KIND).fetch()])

    with connected(running) as client:
        intercept(running, client, _Answering())
        stock = read(client)
        intercept(running, client, _Answering())
        reading = WAYS[way](client)
        assert read(reading) == stock
        with lazyentity.eager():
            assert read(reading) == stock
