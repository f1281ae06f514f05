"""Responses with one document act as the client's messages; references are those that it makes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.types import firestore as types
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.patches.firestore import snapshots
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
        assert outcome(lambda: _told(snapshots._reference_in(collection, document_id))) == outcome(  # noqa: B023
            lambda: _told(collection.document(document_id))  # noqa: B023
        )


@given(parts=st.lists(_parts, max_size=7), is_own=st.booleans())
def test_by_name(parts: list[str], is_own: bool) -> None:
    name = "/".join([DATABASE] * is_own + parts)
    for client in CLIENTS:
        assert outcome(lambda: _told(snapshots.reference_to(client, name))) == outcome(  # noqa: B023
            lambda: _told(client.document(name))  # noqa: B023
        )
