"""Generated documents of ``google.firestore.v1`` in every legal encoding, and in others."""

from __future__ import annotations

import datetime
from typing import Any

from google.cloud.firestore_v1.types import document as document_pb2, firestore as firestore_pb2
from hypothesis import strategies as st

from tests.support.strategies.wire import Field, delimited, double, encode, integer, message

PARENT = "projects/p/databases/(default)/documents/things"
DOCUMENT = f"{PARENT}/one"
REFERENCES = (
    DOCUMENT,
    f"{PARENT}/two/parts/three",
    "projects/q/databases/d/documents/a/b",
    "short",
)

RESPONSE_READ_TIME, LOOKUP_READ_TIME = 3, 4

_names = st.one_of(
    st.sampled_from(["a", "b", "c", "a.b", "", "ä", "`", "field name", "__name__", "x" * 70]),
    st.sampled_from(["__type__", "value", "__oid__", "__int__", "__min__", "__binary__"]),
    st.text(max_size=4),
)
_texts = st.one_of(st.text(max_size=8), st.sampled_from(["__vector__", "x" * 200, "é" * 70]))


@st.composite
def _timestamps(draw: st.DrawFn) -> bytes:
    seconds = draw(
        st.one_of(
            st.integers(-62_135_596_800, 253_402_300_799),
            st.sampled_from([0, -1, -62_135_596_801, 253_402_300_800, 2**62]),
        )
    )
    nanos = draw(st.one_of(st.integers(0, 999_999_999), st.sampled_from([0, 999, -1, 10**9])))
    fields = [integer(1, seconds), integer(2, nanos)]
    return encode(draw(st.permutations(fields)) if draw(st.booleans()) else fields)


@st.composite
def _points(draw: st.DrawFn) -> bytes:
    coordinates = st.floats(-180, 180)
    return encode([double(1, draw(coordinates)), double(2, draw(coordinates))])


def _leaves() -> st.SearchStrategy[Field]:
    return st.one_of(
        st.just(integer(11, 0)),
        st.sampled_from([integer(1, 0), integer(1, 1), integer(1, 2), integer(11, 7)]),
        st.integers(-(2**63), 2**63 - 1).map(lambda number: integer(2, number)),
        st.floats().map(lambda number: double(3, number)),
        _timestamps().map(lambda raw: delimited(10, raw)),
        _texts.map(lambda text: delimited(17, text)),
        st.binary(max_size=5).map(lambda raw: delimited(18, raw)),
        st.sampled_from(REFERENCES).map(lambda name: delimited(5, name)),
        _points().map(lambda raw: delimited(8, raw)),
        # A function, and a field that no version knows.
        st.just(message(20, delimited(1, "f"))),
        st.just(delimited(77, "unknown")),
        # Not UTF-8.
        st.just(delimited(17, b"\xff")),
    )


def _entry(number: int, name: str, value: bytes, odd: int) -> Field:
    parts = [delimited(1, name), delimited(2, value)]
    if odd == 1:
        parts.reverse()
    elif odd == 2:
        parts.append(integer(9, 1))
    elif odd == 3:
        parts.pop()
    elif odd == 4:
        parts[:1] = []
    return message(number, *parts)


@st.composite
def _maps(draw: st.DrawFn, values: st.SearchStrategy[bytes], number: int) -> list[Field]:
    entries = draw(st.lists(st.tuples(_names, values), max_size=4))
    # Rarely odd: one odd entry sends the whole document the other way.
    odd = draw(st.sampled_from([0] * 20 + [1, 2, 3, 4]))
    return [_entry(number, name, value, odd) for name, value in entries]


def _containers(values: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    arrays = st.lists(values, max_size=4).map(
        lambda items: encode([message(9, *(delimited(1, item) for item in items))])
    )
    maps = _maps(values, 1).map(lambda entries: encode([message(6, *entries)]))
    return st.one_of(arrays, maps)


def _value_bytes() -> st.SearchStrategy[bytes]:
    one = _leaves().map(lambda field: encode([field]))
    several = st.lists(_leaves(), max_size=3).map(encode)
    return st.one_of(one, one, one, one, one, one, several)


values = st.recursive(_value_bytes(), _containers, max_leaves=12)
"""Serialised ``Value`` messages."""


@st.composite
def serialised_documents(draw: st.DrawFn) -> bytes:
    """A ``Document``, legal or not."""
    fields = [delimited(1, DOCUMENT), *draw(_maps(values, 2))]
    times = [number for number in (3, 4) if draw(st.booleans())]
    fields += [delimited(number, draw(_timestamps())) for number in times]
    if draw(st.integers(0, 9)) == 0:
        fields = list(draw(st.permutations(fields)))
    if draw(st.integers(0, 9)) == 0:
        fields.append(draw(_leaves()))
    return encode(fields)


@st.composite
def serialised_responses(draw: st.DrawFn, read_time: int = RESPONSE_READ_TIME) -> bytes:
    """A response with a document; ``read_time`` is the number of its field."""
    fields = [delimited(1, draw(serialised_documents()))]
    if draw(st.booleans()):
        fields.append(delimited(read_time, draw(_timestamps())))
    if draw(st.booleans()):
        fields = list(draw(st.permutations(fields)))
    if read_time == RESPONSE_READ_TIME and draw(st.integers(0, 9)) == 0:
        # How many results were skipped; whether the query is done; figures of the query.
        fields.append(draw(st.sampled_from([integer(4, 3), integer(6, 1), message(11)])))
    return encode(fields)


@st.composite
def damaged_responses(draw: st.DrawFn) -> bytes:
    """A query's response with a byte changed, left out or added, or cut off."""
    raw = draw(serialised_responses())
    at = draw(st.integers(0, len(raw) - 1))
    before, after = raw[:at], raw[at + 1 :]
    byte = bytes([draw(st.integers(0, 255))])
    if draw(st.booleans()):
        return before
    return before + draw(st.sampled_from([byte, b"", byte + raw[at : at + 1]])) + after


def response_of(fields: dict[str, Any]) -> bytes:
    """Serialise a query's response with a document of Python values."""
    from google.cloud.firestore_v1 import _helpers

    now = datetime.datetime(2024, 5, 6, 7, 8, 9, 123_456, tzinfo=datetime.timezone.utc)
    response = firestore_pb2.RunQueryResponse(
        document=document_pb2.Document(
            name=DOCUMENT,
            fields=_helpers.encode_dict(fields),
            create_time=now,
            update_time=now,
        ),
        read_time=now,
    )
    serialised: bytes = firestore_pb2.RunQueryResponse.serialize(response)
    return serialised
