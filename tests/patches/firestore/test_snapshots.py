"""Lazy responses, snapshots and references are what the client makes of the same bytes."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1 import base_client, base_query
from google.cloud.firestore_v1.types import firestore as types
from google.protobuf.message import DecodeError
from hypothesis import example, given, strategies as st

import lazyentity
from lazyentity.patches.firestore import responses, snapshots
from lazyentity.patches.firestore.messages import delimited
from lazyentity.patches.firestore.responses import NO_METRICS, QueryResponse
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

CLIENT = firestore.Client(project="p", credentials=AnonymousCredentials())
COLLECTION = CLIENT.collection("things")
PATHS = (
    "a",
    "b",
    "c",
    "a.b",
    "a.a.a",
    "`a.b`",
    "`field name`.a",
    "nope",
    "",
    "a..b",
    "`__type__`",
    "ä",
)


def _lazily(replace: Any, stock: Callable[..., Any]) -> Any:
    return replace(stock, lambda: True)


stock_query = base_query._query_response_to_snapshot
lazy_query = _lazily(snapshots.replace_query_conversion, stock_query)
stock_group = base_query._collection_group_query_response_to_snapshot
lazy_group = _lazily(snapshots.replace_group_conversion, stock_group)
stock_lookup = base_client._parse_batch_get
lazy_lookup = _lazily(snapshots.replace_lookup_conversion, stock_lookup)


@pytest.fixture(autouse=True)
def _patched(_stock_before_and_after: None) -> Iterator[None]:
    """Lazy snapshots need the methods of the patched class; stock ones do not differ by them."""
    lazyentity.patch("firestore", strict=True)
    yield
    lazyentity.unpatch("firestore")


def _converted(deserialize: Any, raw: bytes, convert: Callable[..., Any], rest: Any) -> Any:
    """Return a snapshot of a serialised response, or the error of making it."""
    try:
        return convert(deserialize(raw), *rest)
    except Exception as error:  # noqa: BLE001  # it is compared
        return error


READS: dict[str, Callable[[Any], Any]] = {
    "to_dict": lambda snapshot: snapshot.to_dict(),
    "_data": lambda snapshot: snapshot._data,
    "copy": lambda snapshot: copy.copy(snapshot).to_dict(),
    "deepcopy": lambda snapshot: copy.deepcopy(snapshot).to_dict(),
    "_to_protobuf": lambda snapshot: snapshot._to_protobuf(),
    **{path: lambda snapshot, path=path: snapshot.get(path) for path in PATHS},  # type: ignore[misc]
}
"""Every way to read fields; ``_data`` and the message have the client's own copies of them."""


def _told(snapshot: Any, reads: list[str]) -> Any:
    """Read a snapshot in some order; return the results."""
    return [outcome(lambda: READS[name](snapshot)) for name in reads]  # noqa: B023


_reads = st.lists(st.sampled_from(sorted(READS)), min_size=2, max_size=6)


def check(
    raw: bytes,
    reads: list[str],
    kind: Any,
    stock: Callable[..., Any],
    lazy: Callable[..., Any],
    *rest: Any,
) -> None:
    """Compare both conversions of a response; ``rest`` are their arguments beside it."""
    expected = _converted(kind._real.deserialize, raw, stock, rest)
    eager = _converted(kind.deserialize_for_eager, raw, lazy, rest)
    if isinstance(expected, Exception):
        assert (type(eager), str(eager)) == (type(expected), str(expected))
    else:
        assert described(eager) == described(expected)
        assert expected is None or vars(eager).keys() == vars(expected).keys()
    snapshot = _converted(kind.deserialize, raw, lazy, rest)
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
    assert snapshot.exists is expected.exists is True
    assert (snapshot.id, snapshot.reference) == (expected.id, expected.reference)
    for name in ("read_time", "create_time", "update_time"):
        for one, other in (
            (snapshot, expected),
            (copy.deepcopy(snapshot), copy.deepcopy(expected)),
        ):
            assert described(getattr(one, name)) == described(getattr(other, name))
    assert outcome(lambda: hash(snapshot)) == outcome(lambda: hash(expected))
    assert _told(snapshot, reads) == _told(expected, reads)
    again = _converted(kind._real.deserialize, raw, stock, rest)
    # A NaN equals itself alone, in copies of the same snapshot, too.
    for duplicate in (copy.copy, copy.deepcopy):
        assert (snapshot == duplicate(snapshot)) is (expected == duplicate(expected))
    assert (snapshot == again) is (again == snapshot) is (expected == again)


@given(raw=serialised_responses(RESPONSE_READ_TIME), reads=_reads)
# A document that is a vector, as a whole.
@example(raw=response_of({"__type__": "__vector__", "value": [1.5]}), reads=["a", "to_dict"])
def test_queries(raw: bytes, reads: list[str]) -> None:
    check(raw, reads, QueryResponse, stock_query, lazy_query, COLLECTION, PARENT)


def _nested(maps: int) -> bytes:
    """Serialise a query's response with maps in maps, which proto-plus would refuse to make."""
    value = b"\x10\x01"
    for _ in range(maps):
        entry = delimited(b"\x0a", b"a") + delimited(b"\x12", value)
        value = delimited(b"\x32", delimited(b"\x0a", entry))
    field = delimited(b"\x0a", b"a") + delimited(b"\x12", value)
    document = delimited(b"\x0a", DOCUMENT.encode()) + delimited(b"\x12", field)
    return delimited(b"\x0a", document)


@given(raw=damaged_responses())
# protobuf's parser refuses too many messages in messages, and counts the response's, too.
@example(raw=_nested(maps=33))
def test_damaged_responses(raw: bytes) -> None:
    """Errors are the client's, now or when the fields are read."""
    check(raw, ["to_dict", "a"], QueryResponse, stock_query, lazy_query, COLLECTION, PARENT)


@given(raw=serialised_responses(RESPONSE_READ_TIME), reads=_reads)
def test_queries_of_collection_groups(raw: bytes, reads: list[str]) -> None:
    check(raw, reads, QueryResponse, stock_group, lazy_group, COLLECTION)


@given(raw=serialised_responses(LOOKUP_READ_TIME), reads=_reads)
def test_lookups(raw: bytes, reads: list[str]) -> None:
    references = {DOCUMENT: COLLECTION.document("one")}
    check(raw, reads, responses.BatchGetResponse, stock_lookup, lazy_lookup, references, CLIENT)


def test_documents_that_nobody_asked_for() -> None:
    """Of another collection, or with another name: the errors are the client's."""
    kind: Any = types.BatchGetDocumentsResponse
    found = kind.serialize(kind(found={"name": DOCUMENT}))
    check(found, [], responses.BatchGetResponse, stock_lookup, lazy_lookup, {}, CLIENT)
    other = f"{PARENT.rpartition('/')[0]}/others"
    check(response_of({}), [], QueryResponse, stock_query, lazy_query, COLLECTION, other)


def lazy(fields: Any, collection: Any = COLLECTION) -> Any:
    """Make a lazy snapshot of Python values, or of a serialised response."""
    raw = fields if isinstance(fields, bytes) else response_of(fields)
    return lazy_query(QueryResponse.deserialize(raw), collection, PARENT)


def test_not_a_number_equals_itself() -> None:
    """It was decoded anew by each read, and equals no other."""
    snapshot = lazy({"f": math.nan, "l": [math.nan]})
    assert snapshot.to_dict() == snapshot.to_dict()
    assert snapshot.get("l") == snapshot.get("l")
    assert len({snapshot.get("f"), snapshot.get("f")}) == 1
    assert lazy({"f": math.nan}) != lazy({"f": math.nan})
    for duplicate in (copy.copy, copy.deepcopy):
        unread = lazy({"f": math.nan})
        assert unread == duplicate(unread)


def test_values_are_decoded_once() -> None:
    snapshot = lazy({"a": {"b": [1, None]}, "c": "text", "d": 1})
    assert lazyentity.decoded(snapshot) == ()
    assert snapshot.get("c") is snapshot.get("c")
    assert snapshot.get("a.b") is not snapshot.get("a.b")
    assert sorted(lazyentity.decoded(snapshot)) == ["a", "c"]
    with pytest.raises(KeyError):
        snapshot.get("nope")
    assert sorted(lazyentity.decoded(snapshot)) == ["a", "c"]
    assert snapshot.to_dict()["c"] is snapshot.get("c")
    assert sorted(lazyentity.decoded(snapshot)) == ["a", "c", "d"]
    assert "_data" not in vars(snapshot)


def test_snapshots_outlive_the_patch() -> None:
    """Unpatched, the client's own methods read them."""
    snapshot, other = (lazy({"a": {"b": 1}}) for _ in "12")
    lazyentity.unpatch("firestore")
    assert firestore.DocumentSnapshot.to_dict.__code__.co_filename.endswith("base_document.py")
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
    snapshot, raw = lazy({"good": {"a": 1}, **fields}), response_of({"good": 1, **fields})
    real = QueryResponse._real.deserialize(raw)
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


def test_responses_act_as_messages() -> None:
    raw = response_of({"a": {"b": 1}, "é": "text"})
    lazy: Any = QueryResponse.deserialize(raw)
    real: Any = types.RunQueryResponse.deserialize(raw)
    assert type(lazy) is QueryResponse
    assert isinstance(lazy, types.RunQueryResponse)
    assert lazy.__class__ is types.RunQueryResponse
    assert lazy == real
    assert real == lazy._whole()
    assert lazy.document == real.document
    assert lazy._pb == real._pb
    assert bool(lazy) is bool(real)
    assert repr(lazy) == repr(real)
    assert ("document" in lazy, "transaction" in lazy) == (True, False)
    assert lazy.skipped_results == 0
    assert lazy.read_time == real.read_time
    for name in ("to_json", "to_dict", "pb", "serialize"):
        assert getattr(type(lazy), name)(lazy) == getattr(type(real), name)(real)
    # The client asks each response whether it has some.
    assert bool(lazy.explain_metrics) is False
    assert lazy.explain_metrics == real.explain_metrics
    assert repr(NO_METRICS) == repr(real.explain_metrics)
    with pytest.raises(AttributeError):
        lazy.transaction = b"new"
    for duplicate in (copy.copy, copy.deepcopy):
        made = duplicate(lazy)
        assert type(made) is types.RunQueryResponse
        assert made == real
    assert type(type(lazy)()) is types.RunQueryResponse
    # Somebody has changed the message that was made.
    lazy._pb.document.fields["a"].integer_value = 7
    assert lazy_query(lazy, COLLECTION, PARENT).get("a") == 7


@pytest.mark.parametrize(
    "name", ["", "a", DOCUMENT[1:], f"{DOCUMENT}/", f"{DOCUMENT}/x", "projects//"]
)
def test_other_responses_are_the_clients(name: str) -> None:
    """Documents with a name that no server sends, too: the client finds its error in its turn."""
    for response in (
        types.RunQueryResponse(),
        types.RunQueryResponse(transaction=b"t"),
        types.RunQueryResponse(document={"name": DOCUMENT}, transaction=b"t"),
        types.RunQueryResponse(document={"name": name}),
        types.RunQueryResponse(explain_metrics={"plan_summary": {}}),
    ):
        raw = types.RunQueryResponse.serialize(response)
        assert type(QueryResponse.deserialize(raw)) is types.RunQueryResponse


_ASYNC_CLIENT = firestore.AsyncClient(project="p", credentials=AnonymousCredentials())
_DATABASE = "projects/p/databases/(default)/documents"
_parts = st.sampled_from(
    ["a", "b", "", "projects", "p", "databases", "(default)", "documents", "ä"]
)


def _told_reference(reference: Any) -> Any:
    return type(reference), vars(reference), reference._document_path, reference.parent._path


@pytest.mark.parametrize("client", [CLIENT, _ASYNC_CLIENT], ids=["Client", "AsyncClient"])
@given(parts=st.lists(_parts, max_size=7), is_own=st.booleans())
def test_references(client: Any, parts: list[str], is_own: bool) -> None:
    """They are those that the client makes, or its errors."""
    name = "/".join([_DATABASE] * is_own + parts)
    assert outcome(lambda: _told_reference(snapshots.reference_to(client, name))) == outcome(
        lambda: _told_reference(client.document(name))
    )
