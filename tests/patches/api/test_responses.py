"""Low-level use of read responses: they give the stock message's values and are read-only."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import proto
import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import (
    datastore as datastore_pb2,
    entity as entity_pb2,
    query as query_pb2,
)
from google.protobuf import timestamp_pb2
from hypothesis import example, given, strategies as st

from lazyentity._backend import stock_from_raw
from lazyentity.patches.api import responses
from lazyentity.readers import LAZY
from tests.conftest import IMPLEMENTATIONS
from tests.support.clients import EXPLAINS
from tests.support.snapshots import outcome, snapshot
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise

NOT_FINISHED = query_pb2.QueryResultBatch.MoreResultsType.NOT_FINISHED
AT = timestamp_pb2.Timestamp(seconds=1_700_000_000, nanos=7)


def _key(name: str) -> entity_pb2.Key:
    return entity_pb2.Key(
        partition_id={"project_id": "p", "namespace_id": "n"}, path=[{"kind": "K", "name": name}]
    )


def entity_result(name: str) -> query_pb2.EntityResult:
    return query_pb2.EntityResult(
        entity=entity_pb2.Entity(
            key=_key(name),
            properties={
                "text": entity_pb2.Value(string_value=name, meaning=15),
                "inner": entity_pb2.Value(
                    entity_value=entity_pb2.Entity(
                        properties={"n": entity_pb2.Value(integer_value=1)}
                    )
                ),
            },
        ),
        version=len(name),
        create_time=AT,
        update_time=AT,
        cursor=b"cursor of " + name.encode(),
    )


def _explained(response: datastore_pb2.RunQueryResponse) -> datastore_pb2.RunQueryResponse:
    if EXPLAINS:
        kind = type(response.explain_metrics)
        response.explain_metrics = kind(execution_stats={"results_returned": 2})
        # proto-plus takes no Struct in its constructors.
        metrics = response._pb.explain_metrics
        metrics.plan_summary.indexes_used.add()["query_scope"] = "Collection"
    return response


_BATCH = query_pb2.QueryResultBatch(
    skipped_results=3,
    skipped_cursor=b"skipped",
    entity_result_type=query_pb2.EntityResult.ResultType.FULL,
    entity_results=[entity_result("one"), entity_result("three")],
    end_cursor=b"end",
    more_results=NOT_FINISHED,
    snapshot_version=99,
    read_time=AT,
)

LOOKUPS = {
    "everything": datastore_pb2.LookupResponse(
        found=[entity_result("one"), entity_result("three")],
        missing=[query_pb2.EntityResult(entity=entity_pb2.Entity(key=_key("gone")), version=5)],
        deferred=[_key("later"), _key("much later")],
        transaction=b"transaction",
        read_time=AT,
    ),
    "nothing": datastore_pb2.LookupResponse(),
}

QUERIES = {
    "everything": _explained(
        datastore_pb2.RunQueryResponse(
            batch=_BATCH,
            query=query_pb2.Query(kind=[query_pb2.KindExpression(name="K")]),
            transaction=b"transaction",
        )
    ),
    "no batch": datastore_pb2.RunQueryResponse(transaction=b"transaction"),
    "nothing": datastore_pb2.RunQueryResponse(),
}


def _parts(message: Any) -> list[Any]:
    """Return a response with its batch, its results and their entities."""
    kind = message.__class__
    if kind is datastore_pb2.LookupResponse:
        own, results = [message], [*message.found, *message.missing]
    else:
        own, results = [message, message.batch], [*message.batch.entity_results]
    return [*own, *results, *(result.entity for result in results)]


def _fields(message: Any) -> list[Any]:
    values = {name: getattr(message, name) for name in _names_of(message)}
    # Results are tuples, which are equal to no list.
    return [
        (name, list(value) if isinstance(value, Sequence) else value, name in message)
        for name, value in values.items()
        if not isinstance(value, (str, bytes))
    ]


def _same(message: Any) -> Any:
    """Compare a message both ways with the client's own of the same bytes."""
    fresh = message.__class__.deserialize(type(message).serialize(message))
    return message == fresh, fresh == message, message != fresh, fresh


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "fields": _fields,
    "class": lambda message: (isinstance(message, proto.Message), message.__class__),
    "equality": _same,
    "to_json": lambda message: type(message).to_json(message, sort_keys=True),
    "to_dict": lambda message: type(message).to_dict(message),
    "upb": lambda message: (type(message).pb(message), message._pb),
    "truth": bool,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda message: pickle.loads(pickle.dumps(message)),
    "text": lambda message: (str(message), repr(message), f"{message}"),
    "no such field": lambda message: hasattr(message, "no_such_field"),
}
"""What a response can be asked, whole or in part, as any message of the client."""


def _assert_answers(raw: bytes, kind: Any, question: str) -> None:
    """Check that a response answers, or refuses, as the stock message of the same bytes does."""
    with warnings.catch_warnings():
        if question == "truth":
            # proto-plus asks fields until one is true, and warns of the enum values on the way.
            warnings.filterwarnings("ignore", "Unrecognized .* enum value")
        stock, proxy = (
            [outcome(QUESTIONS[question], part) for part in _parts(each.deserialize(raw))]
            for each in (kind, _PROXIES[kind])
        )
    assert proxy == stock


_PROXIES: dict[Any, Any] = {
    datastore_pb2.LookupResponse: responses.LookupResponse,
    datastore_pb2.RunQueryResponse: responses.RunQueryResponse,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("response", [*LOOKUPS.values(), *QUERIES.values()])
def test_answers(response: Any, question: str) -> None:
    _assert_answers(type(response).serialize(response), type(response), question)


def _proxy(response: Any) -> Any:
    """Return the proxy of a response."""
    return _PROXIES[type(response)].deserialize(type(response).serialize(response))


def _all_proxies() -> dict[str, Any]:
    lookup, query = _proxy(LOOKUPS["everything"]), _proxy(QUERIES["everything"])
    return {
        "lookup response": lookup,
        "query response": query,
        "batch": query.batch,
        "result": lookup.found[0],
        "missing result": lookup.missing[0],
        "result of a query": query.batch.entity_results[0],
        "entity": lookup.found[0].entity,
        "upb entity": lookup.found[0].entity._pb,
    }


def _names_of(message: Any) -> list[str]:
    kind = message.__class__
    descriptor = kind.DESCRIPTOR if hasattr(kind, "DESCRIPTOR") else kind.pb().DESCRIPTOR
    return [field.name for field in descriptor.fields]


@pytest.mark.parametrize("name", _all_proxies())
class TestReadOnly:
    """Changes are refused, because reads of other parts of the response would not show them."""

    def test_nothing_can_be_set_or_deleted(self, name: str) -> None:
        """Neither a field nor anything else; the error names it."""
        message = _all_proxies()[name]
        fields = _names_of(message)
        assert len(fields) > 1
        for field in (*fields, "no_field"):
            with pytest.raises(AttributeError, match=f"'{field}'"):
                setattr(message, field, None)
            with pytest.raises(AttributeError, match=f"'{field}'"):
                delattr(message, field)
        assert message == copy.copy(_all_proxies()[name])


@pytest.mark.parametrize(
    "message",
    [
        datastore_pb2.LookupResponse(found=[entity_result("a")]),
        datastore_pb2.RunQueryResponse(batch={"entity_results": [entity_result("a")]}),
    ],
)
def test_a_dropped_response_is_gone_at_once(message: Any) -> None:
    """Nothing in a response refers back to it: its bytes do not wait for the garbage collector."""
    raw, kind = type(message).serialize(message), type(_proxy(message))
    gc.disable()
    try:
        before = sys.getrefcount(raw)
        response = kind.deserialize(raw)
        is_lookup = kind is responses.LookupResponse
        results = response.found if is_lookup else response.batch.entity_results
        assert results[0].entity.read(LAZY)["text"] == "a"
        assert sys.getrefcount(raw) > before
        del response, results
        assert sys.getrefcount(raw) == before
    finally:
        gc.enable()


_MODULES = {"pure": "lazyentity.pure.entities", "native": "lazyentity.native.entities"}
_EntityResult: Any = query_pb2.EntityResult.pb()


def _delimited(number: int, contents: Any) -> Any:
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
    *[_delimited(1, _ENTITIES)] * 3,
    _delimited(3, _CURSORS),
    _integers(4),
    _delimited(5, _TIMESTAMPS),
    _UNKNOWN,
)
# Found, missing, transaction, read_time.
_LOOKUPS = _messages(
    _delimited(1, _RESULTS),
    _delimited(2, _RESULTS),
    _delimited(5, _CURSORS),
    _delimited(7, _TIMESTAMPS),
    _UNKNOWN,
)
# The type of results, results, end_cursor, more_results, skipped_results.
_BATCHES = _messages(
    _integers(1),
    *[_delimited(2, _RESULTS)] * 2,
    _delimited(4, _CURSORS),
    _integers(5),
    _integers(6),
    _UNKNOWN,
)
_QUERIES = _messages(*[_delimited(1, _BATCHES)] * 2, _delimited(5, _CURSORS), _UNKNOWN)


def _split(backend: str, raw: bytes, what: str) -> Any:
    module = importlib.import_module(_MODULES[backend])
    rpc = module.ReadRpc()
    rpc.reader = module.EntityReader(IMPLEMENTATIONS[backend], stock_from_raw)
    return getattr(module, f"split_{what}")(raw, rpc, module.ResultBytes)


def _assert_same_entity(message: Any, stock: Any) -> None:
    expected = outcome(lambda: snapshot(helpers.entity_from_protobuf(stock)))
    assert outcome(lambda: snapshot(message.read(message.rpc.reader or LAZY))) == expected


def _assert_same(entities: Any, stock: Any) -> None:
    results = entities.results()
    assert len(entities) == len(results) == len(stock)
    for entity, expected in zip(entities, stock, strict=True):
        _assert_same_entity(entity, expected.entity)
    for result, expected in zip(results, stock, strict=True):
        _assert_same_entity(result.entity, expected.entity)
        assert _EntityResult.FromString(result.serialised()) == expected._pb


@pytest.mark.parametrize("backend", IMPLEMENTATIONS)
@given(raw=_LOOKUPS)
@example(raw=b"\x0a\x03\xa0\x06\x00").via("an unknown field of a result")
def test_torn_lookups(backend: str, raw: bytes) -> None:
    stock = datastore_pb2.LookupResponse.deserialize(raw)
    rest, found, missing = _split(backend, raw, "lookup")
    _assert_same(found, stock.found)
    _assert_same(missing, stock.missing)
    del stock.found, stock.missing
    assert datastore_pb2.LookupResponse.deserialize(rest) == stock


@pytest.mark.parametrize("backend", IMPLEMENTATIONS)
@given(raw=_QUERIES)
def test_torn_queries(backend: str, raw: bytes) -> None:
    stock = datastore_pb2.RunQueryResponse.deserialize(raw)
    rest, results = _split(backend, raw, "query")
    _assert_same(results, stock.batch.entity_results)
    if "batch" in stock:
        del stock.batch.entity_results
    assert datastore_pb2.RunQueryResponse.deserialize(rest) == stock


# Properties of an entity in pieces may come in any order.
_OF_PIECES = st.sampled_from([question for question in QUESTIONS if question != "text"])


@given(raw=_LOOKUPS, question=_OF_PIECES)
def test_answers_of_torn_lookups(raw: bytes, question: str) -> None:
    _assert_answers(raw, datastore_pb2.LookupResponse, question)


@given(raw=_QUERIES, question=_OF_PIECES)
@example(raw=b"\x0a\x02\x28\x05", question="fields").via("an unknown end of a batch")
@example(raw=b"\x0a\x04\x08\x04\x12\x00", question="truth").via("an unknown type of results")
def test_answers_of_torn_queries(raw: bytes, question: str) -> None:
    _assert_answers(raw, datastore_pb2.RunQueryResponse, question)
