"""Checks and parts of commits: bytes that the native backend calls well-formed, protobuf takes."""

from __future__ import annotations

import datetime
import importlib
from functools import partial
from typing import Any

import pytest
from google.cloud.datastore import Entity, Key
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.protobuf.message import DecodeError
from hypothesis import example, given, strategies as st

import lazyentity
from lazyentity.codec import messages
from lazyentity.pure import writing as pure

native: Any = importlib.import_module("lazyentity.native.encoder")

_utc = partial(datetime.datetime, tzinfo=datetime.timezone.utc)
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()


def _raw(**properties: Any) -> bytes:
    entity = Entity(Key("Kind", 1, "Child", "näme", project="p", namespace="n", database="d"))
    entity.update(properties)
    raw: bytes = lazyentity.raw(entity)
    return raw


SIMPLE = {
    "nothing": _raw(),
    "texts": _raw(ascii="text" * 9, umlauts="größer" * 9, emoji="\U0001f600", empty=""),
    "numbers": _raw(one=1, most=-(2**63), half=0.5, yes=True, none=None),
    "blobs": _raw(blob=b"\xff\x00" * 90),
    "lists": _raw(some=[1, "two", None], empty=[]),
    "keys and points": _raw(key=Key("K", "a", project="p"), at=GeoPoint(1.5, -2.5)),
}
# A tag or a length is found by its value, and so is a byte that no UTF-8 has.
_BYTES = [0, 1, 2, 8, 9, 10, 0x11, 0x12, 0x1A, 0x2A, 0x32, 0x4A, 0x58, 0x80, 0x8A, 0x92, 0xC0, 0xFF]


def _check(raw: bytes) -> None:
    if native.is_well_formed(raw):
        # Raises, if the check is wrong.
        messages.Entity.FromString(raw)
        _CommitRequest.FromString(b"".join(native.mutation_parts([{"upsert": raw}])))


@pytest.mark.parametrize("raw", SIMPLE.values(), ids=SIMPLE)
def test_usual_entities_are_known(raw: bytes) -> None:
    assert native.is_well_formed(raw)
    assert not pure.is_well_formed(raw)
    # Cut anywhere, they are not.
    for size in range(len(raw)):
        _check(raw[:size])


@given(st.data(), st.sampled_from(list(SIMPLE.values())))
def test_changed_bytes(data: st.DataObject, raw: bytes) -> None:
    """Protobuf takes whatever is called well-formed."""
    changed = bytearray(raw)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        changed[at] = data.draw(st.sampled_from(_BYTES) | st.integers(0, 255))
    _check(bytes(changed))


@given(st.binary(max_size=40))
@example(b"\x1a\x05\x0a\x01\xff\x12\x00")
@example(b"\x1a\x08\x0a\x01a\x12\x03\x8a\x01\xff")
def test_any_bytes(raw: bytes) -> None:
    _check(raw)
    value = b"\x0a\x01a\x12" + bytes([len(raw)]) + raw
    _check(b"\x1a" + bytes([len(value)]) + value)


MALFORMED = {
    "text": b"\x1a\x09\x0a\x01a\x12\x04\x8a\x01\x01\xff",
    "name": b"\x1a\x05\x0a\x01\xff\x12\x00",
    "surrogate": b"\x1a\x0b\x0a\x01a\x12\x06\x8a\x01\x03\xed\xa0\x80",
    "kind": b"\x0a\x05\x12\x03\x0a\x01\xff",
    "project": b"\x0a\x05\x0a\x03\x12\x01\xff",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_malformed(raw: bytes) -> None:
    assert not native.is_well_formed(raw)
    with pytest.raises(DecodeError):
        messages.Entity.FromString(raw)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["insert", "upsert", "delete"]),
            st.binary() | st.integers(100, 20_000).map(bytes),
            max_size=1,
        )
    )
)
def test_parts(mutations: list[dict[str, bytes]]) -> None:
    """Both backends write the same."""
    parts = native.mutation_parts(iter(mutations))
    assert b"".join(parts) == b"".join(pure.mutation_parts(mutations))
