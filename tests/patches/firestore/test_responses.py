"""Responses with one document act as the client's messages, which they make on demand."""

from __future__ import annotations

import contextlib
import copy
import datetime
from typing import Any

import pytest
from google.cloud.firestore_v1.types import firestore as types

from lazyentity._backend import DocumentBytes, DocumentReader
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.firestore.documents import READER
from lazyentity.patches.firestore.responses import NO_METRICS, QueryResponse
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
