"""Requests that are built without proto-plus are those that the client would send."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import Key, helpers
from google.cloud.datastore_v1.types import datastore as datastore_pb2, entity as entity_pb2
from hypothesis import example, given, strategies as st

import lazyentity
from lazyentity._backend import key_bytes
from lazyentity.patches.api.requests import (
    CommitBytes,
    LookupBytes,
    MutationBytes,
    QueryBytes,
    commit_request,
    query_head,
)
from lazyentity.patches.datastore.writes import key_to_protobuf

_stock_to_protobuf: Any = Key.to_protobuf

_TEXT = st.text(min_size=1, max_size=5)
_IDS = st.integers(-(2**63), 2**63 - 1) | _TEXT


@st.composite
def keys(draw: st.DrawFn) -> Key:
    """Complete and partial keys of any depth, with or without namespace, database and parent."""
    elements = draw(st.lists(st.tuples(_TEXT, _IDS), min_size=1, max_size=4))
    path: list[Any] = [part for element in elements for part in element]
    if draw(st.booleans()):
        path.pop()
    where = {
        "project": draw(_TEXT),
        "namespace": draw(st.none() | _TEXT),
        "database": draw(st.none() | _TEXT),
    }
    parent = draw(st.none() | st.tuples(_TEXT, _IDS))
    if parent is None:
        return Key(*path, **where)
    return Key(*path, parent=Key(*parent, **where))


def _refuse(key: Any) -> Any:
    raise AssertionError(f"{key!r} was left to the client")


_EMPTY_IDS = [Key("Kind", last, project="p") for last in (0, "")]
"""Such a key is neither partial nor of any use."""


@given(keys())
@example(_EMPTY_IDS[0])
@example(_EMPTY_IDS[1])
def test_keys(key: Key) -> None:
    """The same message, of the same class; the key is as it was."""
    before = dict(vars(key))
    made, stock = key_to_protobuf(_refuse, key), _stock_to_protobuf(key)
    assert type(made) is type(stock) is entity_pb2.Key
    assert made == stock
    assert made._pb == stock._pb
    assert key_bytes(key) == stock._pb.SerializeToString()
    assert vars(key) == before


@pytest.mark.parametrize("path", [("Kind", 2**63), ("Kind", "\ud800"), ("\ud800", 1)])
def test_keys_without_a_message(path: tuple[Any, ...]) -> None:
    """The error is the client's."""
    key = Key(*path, project="p")
    with pytest.raises(ValueError) as stock:  # noqa: PT011  # the text is compared below
        _stock_to_protobuf(key)
    with pytest.raises(ValueError) as made:  # noqa: PT011  # as above
        key_to_protobuf(_stock_to_protobuf, key)
    assert key_bytes(key) is None
    assert (made.type, str(made.value)) == (stock.type, str(stock.value))


def _check(
    make: Callable[[Any], Any], kind: Any, request: dict[str, Any], change: Callable[[Any], None]
) -> None:
    """Compare a made request with one of the client's, and change it: ``request`` stays."""
    before = {name: str(value) for name, value in request.items()}
    made, stock = make(request), kind(request)
    assert type(made) is type(stock)
    assert made == stock
    assert made._pb == stock._pb
    change(made)
    assert {name: str(value) for name, value in request.items()} == before


def _mutation(key: Key, operation: str) -> Any:
    mutation = datastore_pb2.Mutation()
    if operation == "delete":
        mutation.delete = _stock_to_protobuf(key)
    elif operation:
        getattr(mutation, operation).key = _stock_to_protobuf(key)
    return mutation


_MUTATIONS = st.builds(
    _mutation, keys(), st.sampled_from(["insert", "update", "upsert", "delete", ""])
)

_COMMITS = st.fixed_dictionaries(
    {},
    optional={
        "project_id": _TEXT,
        "database_id": st.text(max_size=3),
        "mode": st.sampled_from(list(datastore_pb2.CommitRequest.Mode)),
        "transaction": st.none() | st.binary(max_size=3),
        "mutations": st.lists(_MUTATIONS, max_size=3),
    },
)


@given(_COMMITS)
def test_commit_requests(request: dict[str, Any]) -> None:
    """The same message, of the same class, that shares nothing with the request."""

    def change(made: Any) -> None:
        made.mutations.append(datastore_pb2.Mutation())

    _check(commit_request, datastore_pb2.CommitRequest, request, change)


def _lookup() -> tuple[Any, Any]:
    sent = [Key("K", number, project="p").to_protobuf() for number in (1, 2)]
    real = datastore_pb2.LookupRequest(
        project_id="p", database_id="d", keys=sent, read_options=datastore_pb2.ReadOptions()
    )
    return LookupBytes.from_keys("p", "d", [key._pb.SerializeToString() for key in sent]), real


def _query() -> tuple[Any, Any]:
    kind, query = datastore_pb2.RunQueryRequest, {"kind": [{"name": "K"}]}
    partition = {"project_id": "p", "database_id": "d", "namespace_id": "n"}
    where = {"project_id": "p", "database_id": "d", "partition_id": partition}
    made = QueryBytes.from_query("p", "d", query_head("p", "d", "n"), kind.pb()(query=query))
    return made, kind(**where, read_options={}, query=query)


def _commit() -> tuple[Any, Any]:
    fields = {"project_id": "p", "database_id": "d", "mode": datastore_pb2.CommitRequest.Mode(2)}
    entities = [datastore.Entity(Key("K", number, project="p"), ["text"]) for number in (1, 2)]
    for entity in entities:
        entity["text"] = "t" * 200
    mutations = [MutationBytes.from_entity("upsert", lazyentity.raw(entity)) for entity in entities]
    upserts = [{"upsert": helpers.entity_to_protobuf(entity)} for entity in entities]
    real = datastore_pb2.CommitRequest({**fields, "mutations": upserts})
    return commit_request({**fields, "mutations": mutations}), real


MADE_OF_BYTES = {"keys": _lookup, "query.kind": _query, "mutations": _commit}
"""Make a request of bytes and the client's, by the path of a repeated field."""


@pytest.mark.parametrize(("path", "make"), MADE_OF_BYTES.items(), ids=MADE_OF_BYTES)
class TestMadeOfBytes:
    """A request made of bytes is the client's message to whoever looks at it."""

    def test_as_a_message(self, path: str, make: Callable[[], tuple[Any, Any]]) -> None:
        request, real = make()
        kind = type(real)
        assert type(request) in (LookupBytes, QueryBytes, CommitBytes)
        assert isinstance(request, kind)
        assert (request.project_id, request.database_id) == ("p", "d")
        for name in kind.pb().DESCRIPTOR.fields_by_name:
            assert (name in request) is (name in real)
            assert getattr(request, name) == getattr(real, name)
        assert kind.pb(request) == real._pb
        assert json.loads(type(request).to_json(request)) == json.loads(kind.to_json(real))
        assert operator.attrgetter(path)(request) == operator.attrgetter(path)(real)
        assert request == real

    def test_changes_are_sent(self, path: str, make: Callable[[], tuple[Any, Any]]) -> None:
        """As when an interceptor makes them."""
        request, real = make()
        for each in (request, real):
            del operator.attrgetter(path)(each)[0]
            each.project_id, each.database_id = "other", "another"
        assert type(real).deserialize(request.serialised()) == real
        if path == "keys":
            assert request.serialised() == type(real).serialize(real)
        assert (request.project_id, request.database_id) == ("other", "another")
