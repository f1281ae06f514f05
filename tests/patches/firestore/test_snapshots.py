"""A lazy snapshot is what the client's own conversion makes of the same bytes."""

from __future__ import annotations

import copy
import gc
import signal
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import base_client, base_query
from google.protobuf.message import DecodeError
from hypothesis import given

import lazyentity
from lazyentity.patches.firestore import reads, responses
from tests.patches.firestore.conftest import Stopped, stopping
from tests.patches.firestore.describing import described, outcome
from tests.patches.firestore.documents import (
    DOCUMENT,
    LOOKUP_READ_TIME,
    PARENT,
    RESPONSE_READ_TIME,
    damaged_responses,
    response_of,
    serialised_responses,
)
from tests.support.strategies.wire import delimited, encode, integer, message

CLIENT = firestore.Client(project="p", credentials=AnonymousCredentials())
COLLECTION = CLIENT.collection("things")
PATHS = ("a", "b", "a.b", "a.a.a", "`a.b`", "`field name`.a", "nope", "", "a..b", "`__type__`", "ä")


def _lazily(replace: Any, stock: Callable[..., Any]) -> Any:
    return replace(stock, lambda: True)


stock_query = base_query._query_response_to_snapshot
lazy_query = _lazily(reads.replace_query_conversion, stock_query)
stock_group = base_query._collection_group_query_response_to_snapshot
lazy_group = _lazily(reads.replace_group_conversion, stock_group)
stock_lookup = base_client._parse_batch_get
lazy_lookup = _lazily(reads.replace_lookup_conversion, stock_lookup)


@pytest.fixture(autouse=True)
def _patched(_stock_before_and_after: None) -> Iterator[None]:
    """Lazy snapshots need the methods of the patched class; stock ones do not differ by them."""
    lazyentity.patch("firestore", strict=True)
    yield
    lazyentity.unpatch("firestore")


def _times(snapshot: Any) -> Any:
    return [
        described(getattr(snapshot, name)) for name in ("read_time", "create_time", "update_time")
    ]


def _converted(response: Any, raw: bytes, convert: Callable[..., Any], rest: Any) -> Any:
    """Return a snapshot of a serialised response, or the error of making it."""
    try:
        return convert(response.deserialize(raw), *rest)
    except Exception as error:  # noqa: BLE001  # it is compared
        return error


def check(
    raw: bytes, kind: Any, stock: Callable[..., Any], lazy: Callable[..., Any], *rest: Any
) -> None:
    """Compare both conversions of a response; ``rest`` are their arguments beside it."""
    expected = _converted(kind._real, raw, stock, rest)
    snapshot = _converted(kind, raw, lazy, rest)
    if isinstance(snapshot, Exception):
        assert (type(snapshot), str(snapshot)) == (type(expected), str(expected))
        return
    if isinstance(expected, Exception):
        # Errors of a field come where the fields are read.
        with pytest.raises(type(expected)) as caught:
            snapshot.to_dict()
        if not isinstance(expected, DecodeError):
            assert str(caught.value) == str(expected)
        notes = getattr(caught.value, "__notes__", [])
        assert any("the document" in text for text in (str(caught.value), *notes))
        return
    if expected is None:
        # There is no document in the response.
        assert snapshot is None
        return
    assert type(snapshot) is type(expected) is firestore.DocumentSnapshot
    # Responses with other parts are left to the client.
    is_lazy = "_data" not in vars(snapshot)
    copied, expected_copy = copy.deepcopy(snapshot), copy.deepcopy(expected)
    assert snapshot.exists is expected.exists is True
    assert (snapshot.id, snapshot.reference) == (expected.id, expected.reference)
    assert copied.reference == expected_copy.reference
    assert _times(copied) == _times(expected_copy)
    assert _times(snapshot) == _times(expected)
    assert outcome(lambda: hash(snapshot)) == outcome(lambda: hash(expected))
    for path in PATHS:
        assert outcome(lambda: snapshot.get(path)) == outcome(lambda: expected.get(path))  # noqa: B023
    assert described(snapshot.to_dict()) == described(expected.to_dict())
    assert described(copied.to_dict()) == described(expected.to_dict())
    assert ("_data" not in vars(copy.copy(snapshot))) is is_lazy
    assert described(snapshot._data) == described(expected._data)
    # A NaN equals itself alone.
    again = _converted(kind._real, raw, stock, rest)
    assert (snapshot == again) is (again == snapshot) is (expected == again)
    assert outcome(snapshot._to_protobuf) == outcome(expected._to_protobuf)


@given(raw=serialised_responses(RESPONSE_READ_TIME))
def test_queries(raw: bytes) -> None:
    check(raw, responses.QueryResponse, stock_query, lazy_query, COLLECTION, PARENT)


@given(raw=damaged_responses())
def test_damaged_responses(raw: bytes) -> None:
    """Errors are the client's, now or when the fields are read."""
    check(raw, responses.QueryResponse, stock_query, lazy_query, COLLECTION, PARENT)


@given(raw=serialised_responses(RESPONSE_READ_TIME))
def test_queries_of_collection_groups(raw: bytes) -> None:
    check(raw, responses.QueryResponse, stock_group, lazy_group, COLLECTION)


@given(raw=serialised_responses(LOOKUP_READ_TIME))
def test_lookups(raw: bytes) -> None:
    references = {DOCUMENT: COLLECTION.document("one")}
    check(raw, responses.LookupResponse, stock_lookup, lazy_lookup, references, CLIENT)


def _lazy(fields: Any, collection: Any = COLLECTION) -> Any:
    """Make a lazy snapshot of Python values, or of a serialised response."""
    raw = fields if isinstance(fields, bytes) else response_of(fields)
    return lazy_query(responses.QueryResponse.deserialize(raw), collection, PARENT)


def test_reads_leave_it_lazy() -> None:
    """Nothing that an application calls keeps what it decoded."""
    snapshot = _lazy({"a": {"b": [1, None]}, "c": "text"})
    assert snapshot.to_dict() == {"a": {"b": [1, None]}, "c": "text"}
    assert snapshot.get("a.b") == [1, None]
    with pytest.raises(KeyError):
        snapshot.get("nope")
    assert "_data" not in vars(snapshot)
    assert snapshot == copy.copy(snapshot)
    assert vars(snapshot)["_data"] == snapshot.to_dict()


def test_parts_come_on_request() -> None:
    """Each is made once, and the snapshots of a query share the rest."""
    snapshot, other = _lazy({"a": 1}), _lazy({"a": 2})
    assert vars(snapshot).keys() == {"_exists", "_lazyentity_bytes", "_lazyentity_source"}
    assert vars(snapshot)["_lazyentity_source"] is vars(other)["_lazyentity_source"]
    assert snapshot.to_dict() == {"a": 1}
    assert snapshot.get("a") == 1
    for name in ("_reference", "read_time", "create_time", "update_time", "_data"):
        assert name not in vars(snapshot)
        assert getattr(snapshot, name) is getattr(snapshot, name) is vars(snapshot)[name]
    snapshot.update_time = None
    assert snapshot.update_time is None


def test_queries_that_are_read_in_turn() -> None:
    """The snapshots of each share the rest."""
    collections = CLIENT.collection("things"), CLIENT.collection("others")
    kept = [_lazy({"a": 1}, collection) for _ in range(3) for collection in collections]
    assert len({id(vars(snapshot)["_lazyentity_source"]) for snapshot in kept}) == 2


@pytest.mark.parametrize("path", [("a/b",), ("a", "b/c/d", "e"), ("", "x", "u")])
def test_a_collection_with_an_odd_path(path: tuple[str, ...]) -> None:
    """The client makes the reference at once, or raises its error."""
    collection = firestore.CollectionReference(*path, client=CLIENT)
    prefix = collection._parent_info()[1]
    response = responses.QueryResponse._real.deserialize(response_of({"a": 1}))
    response.document.name = f"{prefix}/one"
    raw = responses.QueryResponse._real.serialize(response)

    def path_of(convert: Any, kind: Any) -> Any:
        snapshot = convert(kind.deserialize(raw), collection, prefix)
        return snapshot if snapshot is None else snapshot._reference._path

    expected = outcome(lambda: path_of(stock_query, responses.QueryResponse._real))
    assert outcome(lambda: path_of(lazy_query, responses.QueryResponse)) == expected


def test_attributes_that_somebody_sets_count() -> None:
    """As programs do that make a snapshot of another one."""
    snapshot, other = _lazy({"a": 1}), _lazy({"a": 1})
    snapshot._exists = False
    assert snapshot.to_dict() is None
    assert snapshot.get("a") is None
    made: Any = lazyentity.materialize(snapshot)
    assert made.exists is False
    other._data = {"a": 2}
    assert other.to_dict() == {"a": 2}
    assert other.get("a") == 2


def test_a_snapshot_alone_keeps_its_collection() -> None:
    """Otherwise a client would live on after all that was read with it."""
    collection = CLIENT.collection("things")
    snapshot, gone = _lazy({"a": 1}, collection), weakref.ref(collection)
    del collection
    assert snapshot.reference.path == "things/one"
    del snapshot
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("name", ["_data", "_reference", "read_time", "create_time", "update_time"])
def test_parts_of_a_blank_instance(name: str) -> None:
    blank = object.__new__(firestore.DocumentSnapshot)
    with pytest.raises(AttributeError, match=f"DocumentSnapshot' object has no attribute '{name}'"):
        getattr(blank, name)
    assert not hasattr(firestore.DocumentSnapshot, name)


def test_a_snapshot_made_by_hand() -> None:
    reference = COLLECTION.document("one")
    snapshot = firestore.DocumentSnapshot(reference, {"a": [1]}, True, None, None, None)
    assert snapshot.to_dict() == {"a": [1]}
    assert firestore.DocumentSnapshot(reference, None, False, None, None, None).to_dict() is None


def test_snapshots_outlive_the_patch() -> None:
    """Unpatched, the client's own methods read them."""
    snapshot, other = (_lazy({"a": {"b": 1}}) for _ in "12")
    lazyentity.unpatch("firestore")
    assert "lazyentity" not in firestore.DocumentSnapshot.to_dict.__code__.co_filename
    assert snapshot.get("a.b") == 1
    assert snapshot.to_dict() == {"a": {"b": 1}} == vars(snapshot)["_data"]
    assert snapshot == other


ELSEWHERE = firestore.Client(project="q", credentials=AnonymousCredentials()).document("a/b")


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"bad": ELSEWHERE}, "bad"),
        ({"bad": {"odd name": {"x": [1, ELSEWHERE]}, "fine": 2}}, "bad.`odd name`.x"),
    ],
)
def test_errors_name_document_and_field(fields: Any, path: str) -> None:
    """The error is that of stock's stream; other fields can be read."""
    snapshot, raw = _lazy({"good": {"a": 1}, **fields}), response_of({"good": 1, **fields})
    real = responses.QueryResponse._real.deserialize(raw)
    with pytest.raises(ValueError, match="does not correspond to the same") as expected:
        stock_query(real, COLLECTION, PARENT)
    for read in (snapshot.to_dict, lambda: snapshot.get("bad"), lambda: snapshot.get(path)):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  # compared below
            read()
        assert str(caught.value) == str(expected.value)
        (note,) = caught.value.__notes__
        assert note == f"while decoding field {path} of the document '{DOCUMENT}'"
    assert snapshot.get("good.a") == 1
    assert snapshot.exists


def test_order_of_fields() -> None:
    """As received, with the native backend; a protobuf map has another order."""
    names = [f"name {number * 7 % 40}" for number in range(40)]
    entries = [
        message(2, delimited(1, name), delimited(2, encode([integer(2, 1)]))) for name in names
    ]
    raw = encode([message(1, delimited(1, DOCUMENT), *entries)])
    found = list(_lazy(raw).to_dict())
    assert sorted(found) == sorted(names)
    assert lazyentity.backend == "pure" or found == names


class _SignallingClient(firestore.Client):
    """Gets a signal while it makes a reference that was read, once."""

    is_due = False

    def document(self, *path: str) -> Any:
        if self.is_due:
            self.is_due = False
            signal.raise_signal(signal.SIGINT)
        return super().document(*path)


@pytest.mark.parametrize("read", [lambda each: each.to_dict(), lambda each: each.get("a")])
def test_the_exception_of_a_signal_handler(read: Callable[[Any], Any]) -> None:
    """It is no error of the document, which another conversion could avoid."""
    client = _SignallingClient(project="p", credentials=AnonymousCredentials())
    snapshot = _lazy({"a": CLIENT.document("things/two")}, client.collection("things"))
    client.is_due = True
    with stopping(), pytest.raises(Stopped):
        read(snapshot)
    assert read(snapshot) is not None
