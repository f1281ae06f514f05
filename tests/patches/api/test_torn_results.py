"""Responses whose parts come in pieces, or twice: merged as the stock client has them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from hypothesis import given
from hypothesis import strategies as st

from lazyentity._backend import stock_from_raw
from lazyentity.patches.api import responses
from lazyentity.readers import LAZY
from tests.conftest import IMPLEMENTATIONS
from tests.support.snapshots import outcome, snapshot
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise

_MODULES = {"pure": "lazyentity.pure.responses", "native": "lazyentity.native.entities"}
_EntityResult: Any = query_pb2.EntityResult.pb()


def _fields(number: int, contents: Any) -> Any:
    return contents.map(lambda content: wire.delimited(number, content))


def _integers(number: int) -> Any:
    return st.integers(0, 5).map(lambda value: wire.integer(number, value))


def _messages(*fields: Any) -> Any:
    """Messages with any of the fields, in any order and any number."""
    return st.lists(st.one_of(*fields), max_size=5).map(wire.encode)


_VALUES = st.one_of(st.integers(-1, 1), st.text("x", max_size=2), st.lists(st.none(), max_size=2))
_ENTITIES = st.one_of(
    st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3).map(serialise),
    # An incomplete part of a key, and nothing at all.
    st.sampled_from([wire.message(1, wire.message(2, wire.delimited(1, "Kind"))).encode(), b""]),
)
_CURSORS = st.binary(max_size=2)
_TIMESTAMPS = _messages(_integers(1), _integers(2))
_UNKNOWN = _integers(100)
# An entity in up to several pieces, cursor, version, update_time.
_RESULTS = _messages(
    *[_fields(1, _ENTITIES)] * 3,
    _fields(3, _CURSORS),
    _integers(4),
    _fields(5, _TIMESTAMPS),
    _UNKNOWN,
)
# Found, missing, transaction, read_time.
_LOOKUPS = _messages(
    _fields(1, _RESULTS),
    _fields(2, _RESULTS),
    _fields(5, _CURSORS),
    _fields(7, _TIMESTAMPS),
    _UNKNOWN,
)
# The type of results, results, end_cursor, more_results, skipped_results.
_BATCHES = _messages(
    _integers(1),
    *[_fields(2, _RESULTS)] * 2,
    _fields(4, _CURSORS),
    _integers(5),
    _integers(6),
    _UNKNOWN,
)
_QUERIES = _messages(*[_fields(1, _BATCHES)] * 2, _fields(5, _CURSORS), _UNKNOWN)


def _split(backend: str, raw: bytes, what: str) -> Any:
    module = importlib.import_module(_MODULES[backend])
    rpc = module.ReadRpc()
    rpc.reader = module.EntityReader(IMPLEMENTATIONS[backend], stock_from_raw)
    return getattr(module, f"split_{what}")(raw, rpc, module.ResultBytes)


def _assert_same_entity(message: Any, stock: Any) -> None:
    expected = outcome(lambda: snapshot(helpers.entity_from_protobuf(stock)))
    assert outcome(lambda: snapshot(message.read(message.rpc.reader or LAZY))) == expected


def _assert_same(results: Any, stock: Any) -> None:
    assert len(results) == len(stock)
    for result, expected in zip(results, stock, strict=True):
        _assert_same_entity(result.entity, expected.entity)
        assert _EntityResult.FromString(result.serialised()) == expected._pb


@pytest.mark.parametrize("backend", IMPLEMENTATIONS)
@given(raw=_LOOKUPS)
def test_lookups(backend: str, raw: bytes) -> None:
    stock = datastore_pb2.LookupResponse.deserialize(raw)
    rest, found, missing = _split(backend, raw, "lookup")
    _assert_same(found, stock.found)
    _assert_same(missing, stock.missing)
    del stock.found, stock.missing
    assert datastore_pb2.LookupResponse.deserialize(rest) == stock


@pytest.mark.parametrize("backend", IMPLEMENTATIONS)
@given(raw=_QUERIES)
def test_queries(backend: str, raw: bytes) -> None:
    stock = datastore_pb2.RunQueryResponse.deserialize(raw)
    rest, results = _split(backend, raw, "query")
    _assert_same(results, stock.batch.entity_results)
    if "batch" in stock:
        del stock.batch.entity_results
    assert datastore_pb2.RunQueryResponse.deserialize(rest) == stock


@given(raw=_LOOKUPS)
def test_what_stands_in_for_a_lookup(raw: bytes) -> None:
    """Read field by field, as the client reads it, and compared as a whole."""
    stock, lazy = (
        kind.deserialize(raw) for kind in (datastore_pb2.LookupResponse, responses.LookupResponse)
    )
    for ours, theirs in ((lazy.found, stock.found), (lazy.missing, stock.missing)):
        for result, expected in zip(ours, theirs, strict=True):
            _assert_same_entity(result.entity, expected.entity)
            assert result.entity.key == expected.entity.key
            assert (result.cursor, result.version) == (expected.cursor, expected.version)
            assert result.entity == expected.entity
            assert result == expected
    assert lazy == stock
