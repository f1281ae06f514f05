"""Queries have the client's requests and headers, for interceptors and with odd values, too."""

from __future__ import annotations

import base64
import enum
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore.query import And, Or, PropertyFilter, Query
from hypothesis import given
from hypothesis import strategies as st

import lazyentity
from lazyentity.patches.api.requests import LookupBytes, QueryBytes
from tests.bulk.services import Served, connected
from tests.patches.datastore.activations import LAZILY, Activate
from tests.patches.datastore.read_cases import AT_ONCE, KIND, get
from tests.patches.datastore.recording import Recording, intercept
from tests.support import clients, hostile

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


def test_reads_are_lazy_behind_an_interceptor(running: Served, activate: Activate) -> None:
    with connected(running) as client:
        recording = Recording(running, client)
        client = activate(client)
        found = [client.get(client.key("Parent", 1, KIND, 1)), *client.query(kind=KIND).fetch()]
        assert {type(entity) for entity in found} == {lazyentity.LazyEntity}
        assert len(recording.sent) == 4
        assert {*recording.kinds} == {LookupBytes, QueryBytes}


class _Text(str, enum.Enum):
    """Formats as its name."""

    PROJECT = clients.PROJECT
    DATABASE = "named"


class _Index:
    """As a number of numpy: subtracts, and is no int."""

    def __sub__(self, other: int) -> _Index:
        return self

    def __index__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "1"


def _nested(depth: int) -> Any:
    value: Any = PropertyFilter("number", ">", 0)
    for _ in range(depth):
        value = And([value])
    return value


@pytest.fixture(params=LAZILY)
def activate(request: pytest.FixtureRequest) -> Iterator[Activate]:
    """Give a way to lazy reads."""
    yield request.param
    lazyentity.unpatch()


def _fetch(query: dict[str, Any], **options: Any) -> Callable[[Client], Any]:
    return lambda client: _fetched(lambda: client.query(kind=KIND, **query), options)


READS: dict[str, Callable[[Client], Any]] = {
    "query": _fetch({}),
    "get": get,
    "namespaces": lambda client: [
        _fetch({"namespace": hostile.AnyCase(name)})(client) for name in ("Alpha", "ALPHA")
    ],
    "limit": _fetch({}, limit=_Index()),
    **{f"offset {offset!s}": _fetch({}, offset=offset) for offset in ("", 0.0, False)},
    **{f"depth {depth}": _fetch({"filters": [_nested(depth)]}) for depth in (1, 40, 60)},
    "a tuple of filters": _fetch({"filters": [And((_nested(0),))]}),
}


def _sent(running: Served, options: dict[str, Any], activate: Activate, read: Any) -> Any:
    with connected(running, **options) as client:
        recording = Recording(running, client)
        outcome = read(activate(client))
        return outcome, recording.sent, [kind.__name__ for kind in recording.kinds]


@pytest.mark.parametrize(
    "options",
    [{}, {"project": _Text.PROJECT}, {"database": _Text.DATABASE}],
    ids=["usual", "project", "database"],
)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_as_stock(
    running: Served, activate: Activate, options: dict[str, Any], read: Callable[[Client], Any]
) -> None:
    """The same is sent, with the same headers, by a request of the same name."""
    expected = _sent(running, options, lambda client: client, read)
    assert _sent(running, options, activate, read) == expected


def test_a_page_is_iterated_without_python_code(running: Served, activate: Activate) -> None:
    """A generator would end with the first exception of a signal handler, and the page with it."""
    with connected(running) as client:
        page = next(activate(client).query(kind=KIND).fetch().pages)
        found, calls = iter(page), []
        sys.setprofile(lambda frame, event, _: calls.append((frame.f_code.co_filename, event)))
        try:
            number = sum(1 for _ in found)
        finally:
            sys.setprofile(None)
        assert number == AT_ONCE
        assert not [file for file, event in calls if event == "call" and "pages" in file]


_PROGRAM = """
import json
import sys

from google.cloud.datastore import _http
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient

import lazyentity
from tests.support.clients import make_client

seen = []

def wrapping(original):
    def wrapped(self, request=None, **kwargs):
        seen.append(request["project_id"])
        return original(self, request=request, **kwargs)

    return wrapped

for kind in (DatastoreClient, _http.HTTPDatastoreAPI):
    for name in ("lookup", "run_query"):
        setattr(kind, name, wrapping(getattr(kind, name)))
lazyentity.patch("datastore")
client = make_client(int(sys.argv[1]), sys.argv[2])
found = list(client.query(kind=sys.argv[3]).fetch())
print(json.dumps([len(found), client.get(found[0].key)["number"], seen]))
"""
