"""Queries as generated, and for interceptors, have the client's requests and headers."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore.query import And, Or, PropertyFilter, Query
from hypothesis import given, strategies as st

import lazyentity
from lazyentity.patches.api.requests import LookupBytes, QueryBytes
from tests.bulk.services import Served, connected
from tests.patches.datastore.activations import LAZILY, Activate
from tests.patches.datastore.recording import KIND, Recording, intercept, key_of

Client = datastore.Client


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


def _fetched(make: Callable[[], Any], options: dict[str, Any]) -> Any:
    """Return how many entities a query gives, or its error, or that of making it."""
    try:
        with warnings.catch_warnings():
            # Filters in an older form.
            warnings.simplefilter("ignore", UserWarning)
            return len(list(make().fetch(**options)))
    except Exception as error:  # noqa: BLE001  # compared with the stock client's
        return type(error), str(error)


@pytest.mark.parametrize("database", [None, "", "named"])
def test_requests_and_headers(running: Served, database: str | None) -> None:
    """Each query is sent as stock sends it."""
    with connected(running, database=database) as client:
        recording = Recording(running, client)

        @given(_QUERIES, _FETCHES)
        def check(query: dict[str, Any], options: dict[str, Any]) -> None:
            def make() -> Any:
                return _make_query(client, **query)

            recording.sent.clear()
            expected, stock = _fetched(make, options), recording.sent.copy()
            recording.sent.clear()
            recording.kinds.clear()
            assert _fetched(lambda: lazyentity.wrap(make()), options) == expected
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


@pytest.mark.parametrize("activate", LAZILY)
def test_reads_are_lazy_behind_an_interceptor(running: Served, activate: Activate) -> None:
    """It sees a look-up and the queries for all pages, as requests of the client's classes."""
    with connected(running) as client:
        recording = Recording(running, client)
        client = activate(client)
        found = [client.get(key_of(client, 1)), *client.query(kind=KIND).fetch()]
        assert {type(entity) for entity in found} == {lazyentity.LazyEntity}
        assert len(recording.sent) == 4
        assert {*recording.kinds} == {LookupBytes, QueryBytes}
