"""Tags, lengths and numbers in more bytes, or of more bits, than they need.

Protobuf accepts some of these forms, cuts some off, and refuses the others: it is the judge.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, strategies as st

import lazyentity
from lazyentity import LazyEntity
from tests.backends.indexes import ENTITY_PROTOS, SAMPLE, assert_same_index
from tests.backends.responses import SPLITTERS, assert_same_split, native_results
from tests.conftest import BACKENDS
from tests.fuzz.mutation import parsed, with_varint_forms
from tests.fuzz.seeds import RESPONSES
from tests.support.snapshots import Raised, outcome, snapshot, whole
from tests.support.stock import stock_entity
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.samples import RICH

_UNKNOWN = wire.encode([wire.integer(99, 5), wire.delimited(98, b"unknown")])
_FORMS = list(with_varint_forms(RICH + _UNKNOWN))


@functools.cache
def _stock(raw: bytes) -> Any:
    return outcome(lambda: snapshot(stock_entity(raw)))


def _is_refused(raw: bytes) -> bool:
    stock = _stock(raw)
    return isinstance(stock, Raised) and stock.kind is DecodeError


def assert_same_whole(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """Check that an entity as a whole is stock's, or is refused as stock's is."""
    lazy = outcome(lambda: snapshot(lazyentity.materialize(lazy_type.from_bytes(raw))))
    if _is_refused(raw):
        assert isinstance(lazy, Raised), raw
        assert lazy.kind is DecodeError
    elif isinstance(_stock(raw), Raised):
        # The order of the properties decides which of several faults comes first.
        assert isinstance(lazy, Raised), raw
    else:
        assert lazy == _stock(raw), raw


@st.composite
def _other_form(draw: st.DrawFn, raw: bytes) -> bytes:
    """One of the messages of ``with_varint_forms()``; most are made of a field far inside."""
    fields = parsed(raw) or []
    if not fields:
        return raw
    index = draw(st.integers(0, len(fields) - 1))
    field = fields[index]
    is_message = field.wire_type == wire.DELIMITED and bool(parsed(field.payload))
    if is_message and draw(st.integers(0, 3)):
        changed = field._replace(payload=draw(_other_form(field.payload))).encode()
    else:
        changed = draw(st.sampled_from(list(wire.varint_forms(field)))).encode()
    return wire.encode(fields[:index]) + changed + wire.encode(fields[index + 1 :])


@given(raw=entities(Grammar(properties=3, depth=1)).flatmap(_other_form))
def test_any_lazy_entity(lazy_type: type[LazyEntity], raw: bytes) -> None:
    assert_same_whole(lazy_type, raw)


def test_eager_entities(backend: str) -> None:
    """Eager mode converts what stock converts, and refuses what stock refuses."""
    stock_from_raw = BACKENDS[backend].stock_from_raw
    for raw in _FORMS:
        eager, stock = (outcome(_whole, convert, raw) for convert in (stock_from_raw, stock_entity))
        assert eager == stock, raw


def _whole(convert: Callable[[bytes], Any], raw: bytes) -> Any:
    return whole(convert(raw))


@pytest.mark.parametrize("ordinal", [0, 1], ids=["lookup", "query"])
def test_responses(ordinal: int) -> None:
    """Both backends split each form alike, or refuse it, at every depth."""
    split = list(SPLITTERS.values())[ordinal]
    refused = []
    for raw in with_varint_forms(RESPONSES[ordinal]):
        assert_same_split(raw)
        refused.append(isinstance(outcome(split, native_results, raw), Raised))
    assert refused.count(True) > 50
    assert refused.count(False) > 50


def test_indexes_of_entity_protos() -> None:
    """Native has an index only of bytes that protobuf accepts, and protobuf's own index."""
    for sample in (SAMPLE, *ENTITY_PROTOS):
        for raw in with_varint_forms(sample):
            assert_same_index(raw)
