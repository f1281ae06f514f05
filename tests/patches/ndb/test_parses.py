"""How often messages are parsed and serialised on the way from a response to models."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import entity_to_protobuf
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.cloud.ndb import _datastore_query

import lazyentity
from lazyentity.patches.api.entities import EntityHandle
from lazyentity.patches.api.responses import RunQueryResponse
from lazyentity.patches.ndb.reads import _query_response
from tests.patches.ndb.pairs import CLIENT
from tests.support.stock import EntityMessage

COUNT = 7
_PARSING = frozenset(("FromString", "ParseFromString", "MergeFromString"))
_FULL = query_pb2.EntityResult.ResultType.FULL
_PROJECTION = query_pb2.EntityResult.ResultType.PROJECTION
_KEY_ONLY = query_pb2.EntityResult.ResultType.KEY_ONLY


_QUERY_RESPONSE: Any = datastore_pb2.RunQueryResponse.pb()
_RESULT: Any = query_pb2.EntityResult.pb()
_API_MESSAGES = {_QUERY_RESPONSE, _RESULT, EntityMessage, entity_pb2.Key.pb()}


class Parsed(ndb.Model):
    number = ndb.IntegerProperty()


@contextmanager
def calls() -> Iterator[Counter[tuple[str, str]]]:
    """Count the calls of upb in this thread, by message and by ``parse`` or ``serialise``.

    Only the API's own messages count: the shadow schema leaves entities and keys as bytes.
    """
    counted: Counter[tuple[str, str]] = Counter()

    def note(_frame: Any, event: str, function: Any) -> None:
        if event != "c_call":
            return
        name = function.__name__
        if name in _PARSING or name == "SerializeToString":
            message = function.__self__
            kind = message if isinstance(message, type) else type(message)
            if kind in _API_MESSAGES:
                what = "parse" if name in _PARSING else "serialise"
                counted[kind.DESCRIPTOR.name, what] += 1  # type: ignore[attr-defined]  # a message

    sys.setprofile(note)
    try:
        yield counted
    finally:
        sys.setprofile(None)


def _response(kind: Any) -> bytes:
    response = _QUERY_RESPONSE()
    response.batch.entity_result_type = kind
    for number in range(COUNT):
        entity = Entity(Key("Parsed", number + 1, project="p"))
        entity["number"] = number
        message = entity_to_protobuf(entity)._pb
        response.batch.entity_results.add(entity=message, cursor=b"c")
    raw: bytes = response.SerializeToString()
    return raw


def test_stock_parses_are_counted() -> None:
    """A count of zero would say nothing if nothing was ever counted."""
    with calls() as counted:
        response = _QUERY_RESPONSE.FromString(_response(_FULL))
        response.batch.entity_results[0].entity.key.SerializeToString()
    assert counted["RunQueryResponse", "parse"] == 1
    assert counted["Key", "serialise"] == 1


@pytest.mark.parametrize("kind", [_PROJECTION, _KEY_ONLY])
def test_responses_of_other_queries(kind: Any) -> None:
    """Each result is parsed once, as the message that ndb gets, and none is serialised again."""
    raw = _response(kind)
    with calls() as counted:
        response = _query_response(raw)
        keys = [result.entity.key for result in response.batch.entity_results]
    assert len(keys) == COUNT
    # The response itself is parsed without its results.
    assert counted == {("RunQueryResponse", "parse"): 1, ("EntityResult", "parse"): COUNT}


def _key_of(result_pb: Any) -> Any:
    return _datastore_query._Result(_FULL, result_pb).key()


def test_keys_of_results() -> None:
    """The key of a result is decoded without its entity, and is the one that stock ndb gives."""
    raw = _response(_FULL)
    stock = datastore_pb2.RunQueryResponse.deserialize(raw).batch.entity_results
    lazyentity.patch("ndb")
    response = RunQueryResponse.deserialize(raw)
    unconverted = mock.patch.object(EntityHandle, "read", side_effect=AssertionError)
    with CLIENT.context(), unconverted, calls() as counted:
        keys = [_key_of(result) for result in response.batch.entity_results]
    lazyentity.unpatch("ndb")
    with CLIENT.context():
        assert keys == [_key_of(result) for result in stock]
    assert counted["Entity", "parse"] == 0
    assert counted["Key", "parse"] <= COUNT
    assert counted["Key", "serialise"] == 0


@pytest.mark.parametrize("by_key", [True, False], ids=["get_multi", "fetch"])
def test_models(client: Any, by_key: bool) -> None:
    """No entity or key is parsed more than once; a key is serialised only to ask for it."""
    with client.context():
        keys = ndb.put_multi([Parsed(id=number + 1, number=number) for number in range(COUNT)])
    lazyentity.patch("ndb")
    with client.context(), calls() as counted:
        found = ndb.get_multi(keys) if by_key else Parsed.query().fetch()
        assert sorted(one.key.id() for one in found) == [*range(1, COUNT + 1)]
    # The native backend reads and writes the bytes itself.
    by_protobuf = 0 if lazyentity.backend == "native" else COUNT
    assert counted["Entity", "parse"] == by_protobuf
    assert counted["Key", "serialise"] == (by_protobuf if by_key else 0)
    # The models get the keys that were asked for.
    assert counted["Key", "parse"] == (0 if by_key else by_protobuf)
