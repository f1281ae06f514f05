"""Responses with one document act as the client's messages; references are those that it makes."""

from __future__ import annotations

import contextlib
import copy
import datetime
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.types import firestore as types
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native.backend import DocumentBytes, DocumentReader
from lazyentity.patches.firestore import references
from lazyentity.patches.firestore.documents import READER
from lazyentity.patches.firestore.responses import NO_METRICS, QueryResponse
from tests.patches.firestore.describing import outcome
from tests.patches.firestore.documents import DOCUMENT, response_of

RAW = response_of({"a": {"b": 1}, "é": "text"})


@pytest.fixture
def lazy() -> Any:
    made = QueryResponse.deserialize(RAW)
    assert type(made) is QueryResponse
    return made


@pytest.fixture
def real() -> Any:
    return types.RunQueryResponse.deserialize(RAW)


def test_it_acts_as_the_message(lazy: Any, real: Any) -> None:
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


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_messages(duplicate: Any, lazy: Any, real: Any) -> None:
    made = duplicate(lazy)
    assert type(made) is types.RunQueryResponse
    assert made == real
    assert type(type(lazy)()) is types.RunQueryResponse


def test_it_is_read_only(lazy: Any) -> None:
    with pytest.raises(AttributeError):
        lazy.transaction = b"new"


def test_metrics_that_no_response_has(lazy: Any, real: Any) -> None:
    """The client asks each response whether it has some."""
    assert not lazy.explain_metrics
    assert lazy.explain_metrics is NO_METRICS
    assert lazy.explain_metrics == real.explain_metrics
    assert repr(NO_METRICS) == repr(real.explain_metrics)


def test_other_responses_are_the_clients() -> None:
    for response in (
        types.RunQueryResponse(),
        types.RunQueryResponse(transaction=b"t"),
        types.RunQueryResponse(document={"name": DOCUMENT}, transaction=b"t"),
        types.RunQueryResponse(document={}),
        types.RunQueryResponse(explain_metrics={"plan_summary": {}}),
    ):
        raw = types.RunQueryResponse.serialize(response)
        assert type(QueryResponse.deserialize(raw)) is types.RunQueryResponse


def test_values(lazy: Any) -> None:
    """Those that are not there are left to the client."""
    assert lazy.decoded_value(READER, None, ["a", "b"]) == 1
    assert lazy.decoded_value(READER, None, ["é"]) == "text"
    for names in ((), ("nope",), ("a", "nope"), ("a", "b", "c"), ("é", "x")):
        assert lazy.decoded_value(READER, None, names) is UNDECODED


@pytest.mark.parametrize("name", ["\ud800", 1, None])
def test_names_that_are_no_text(name: Any, lazy: Any) -> None:
    """The client's own code judges them."""
    with contextlib.suppress(TypeError, UnicodeEncodeError):
        assert lazy.decoded_value(READER, None, [name]) is UNDECODED


@pytest.mark.parametrize("timestamp", [int, datetime.date, 5, "datetime"])
def test_timestamps_of_another_type(timestamp: Any) -> None:
    """Instances are made past the constructor of the type."""
    make: Any = DocumentReader
    with pytest.raises(TypeError):
        make(geo_point=int, reference=int, other_map=int, timestamp=timestamp)


def test_bytes_that_nobody_filled() -> None:
    empty: Any = DocumentBytes.__new__(DocumentBytes)
    with pytest.raises((AttributeError, TypeError)):
        empty.decoded_fields(None, None)
    blank = DocumentReader.__new__(DocumentReader)
    filled = QueryResponse.deserialize(response_of({"a": datetime.datetime(2024, 1, 1)}))
    # The pure backend's has no attributes yet.
    with contextlib.suppress(AttributeError):
        assert filled.decoded_fields(blank, None) is UNDECODED


CLIENTS: list[Any] = [
    kind(project="p", credentials=AnonymousCredentials())
    for kind in (firestore.Client, firestore.AsyncClient)
]
DATABASE = "projects/p/databases/(default)/documents"
_parts = st.sampled_from(
    ["a", "b", "", "projects", "p", "databases", "(default)", "documents", "ä"]
)


def _told(reference: Any) -> Any:
    return type(reference), vars(reference), reference._document_path, reference.parent._path


@given(parts=st.lists(_parts, min_size=1, max_size=7), document_id=_parts)
def test_in_a_collection(parts: list[str], document_id: str) -> None:
    for client in CLIENTS:
        try:
            collection = client.collection(*parts)
        except ValueError:
            continue
        assert outcome(lambda: _told(references.reference_in(collection, document_id))) == outcome(  # noqa: B023
            lambda: _told(collection.document(document_id))  # noqa: B023
        )


@pytest.mark.parametrize("path", [("",), ("a/b", "c", "d"), ("a", "b/c", "d"), ("a", "b", "c")])
def test_in_a_collection_made_by_hand(path: tuple[str, ...]) -> None:
    """As the client makes one without a name for queries of everything below a document."""
    collection = firestore.CollectionReference(*path, client=CLIENTS[0])
    assert outcome(lambda: _told(references.reference_in(collection, "x"))) == outcome(
        lambda: _told(collection.document("x"))
    )


@given(parts=st.lists(_parts, max_size=7), is_own=st.booleans())
def test_by_name(parts: list[str], is_own: bool) -> None:
    name = "/".join([DATABASE] * is_own + parts)
    for client in CLIENTS:
        assert outcome(lambda: _told(references.reference_of(client, name))) == outcome(  # noqa: B023
            lambda: _told(client.document(name))  # noqa: B023
        )


def test_plain_ones_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaced methods are called; otherwise none is."""
    collection, called = CLIENTS[0].collection("a"), []

    def count(function: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            called.append(function.__qualname__)
            return function(*args, **kwargs)

        return counted

    base = firestore.Client.__mro__[1]
    monkeypatch.setattr(base, "_document_path_helper", count(base._document_path_helper))  # type: ignore[attr-defined]
    references.reference_in(collection, "x")
    references.reference_of(CLIENTS[0], f"{DATABASE}/a/x")
    assert called == []
    for holder, name in (
        (firestore.Client, "document"),
        (firestore.DocumentReference, "__init__"),
        (firestore.CollectionReference, "document"),
        (CLIENTS[0], "document"),
        (collection, "document"),
    ):
        kind = holder if isinstance(holder, type) else type(holder)
        called.clear()
        with monkeypatch.context() as replaced:
            replaced.setattr(holder, name, count(getattr(holder, name)))
            references.reference_in(collection, "x")
            # Older versions inherit one of them.
            assert any(each.endswith(f"{kind.__name__}.{name}") for each in called)
