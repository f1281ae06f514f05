"""A batch of lookups gets stock ndb's results for any response of the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import entity_to_protobuf
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.ndb import _datastore_api, model
from google.cloud.ndb._options import ReadOptions
from google.cloud.ndb.context import get_context
from google.cloud.ndb.tasklets import Future

import lazyentity
from lazyentity.patches.api.responses import LookupResponse
from tests.patches.ndb.model_snapshots import attempt, describe
from tests.patches.ndb.sides import Sides
from tests.support.snapshots import Raised, outcome
from tests.support.strategies import wire
from tests.support.strategies.schema import ENTITY, KEY, PARTITION, PATH_ELEMENT

FOUND, MISSING, DEFERRED = 1, 2, 3


class Found(ndb.Model):
    number = ndb.IntegerProperty()


def _key(number: int) -> Key:
    return Key("Found", number, project="p")


def _message(key: Key) -> Any:
    entity = Entity(key)
    entity["number"] = key.id
    return entity_to_protobuf(entity)._pb


def _entity(number: int) -> bytes:
    raw: bytes = _message(_key(number)).SerializeToString()
    return raw


def _without_key() -> bytes:
    message = _message(_key(1))
    message.ClearField("key")
    raw: bytes = message.SerializeToString()
    return raw


def _key_fields(number: int) -> list[wire.Field]:
    return [
        wire.message(KEY.partition_id, wire.delimited(PARTITION.project_id, "p")),
        wire.message(
            KEY.path,
            wire.delimited(PATH_ELEMENT.kind, "Found"),
            wire.integer(PATH_ELEMENT.id, number),
        ),
    ]


def _results(number: int, *entities: bytes) -> bytes:
    return wire.encode([wire.message(number, wire.delimited(1, raw)) for raw in entities])


def _with_key(*fields: wire.Field, before: bool = True) -> bytes:
    """Serialise entity 1 with its key in these fields, before its properties or after."""
    key, rest = wire.encode(fields), _without_key()
    return key + rest if before else rest + key


_WHOLE = wire.message(ENTITY.key, *_key_fields(1))
_PARTS = [wire.message(ENTITY.key, field) for field in _key_fields(1)]

ENTITIES = {
    "as servers send it": _entity(1),
    "key after the properties": _with_key(_WHOLE, before=False),
    "key in two": _with_key(*_PARTS),
    "key in two, the path first": _with_key(*reversed(_PARTS)),
    "the path before the project": _with_key(wire.message(ENTITY.key, *reversed(_key_fields(1)))),
    "a longer tag": _with_key(_WHOLE._replace(padding=2)),
    "an unknown field in the key": _with_key(
        wire.message(ENTITY.key, *_key_fields(1), wire.integer(1000, 5))
    ),
    "an unknown field in the entity": _with_key(wire.integer(1000, 5), _WHOLE),
    "a key that was not asked for": _entity(77),
    "no key": _without_key(),
    "another key within the first": _with_key(_WHOLE, wire.message(ENTITY.key, _key_fields(2)[1])),
    "nothing": b"",
}

RESPONSES = {
    "several": _results(FOUND, _entity(2), _entity(1), _entity(3)),
    "some are missing": _results(FOUND, _entity(2)) + _results(MISSING, _entity(1), _entity(3)),
    "some are deferred": _results(FOUND, _entity(2))
    + wire.encode([wire.message(DEFERRED, *_key_fields(number)) for number in (1, 3)]),
    "one is there twice": _results(FOUND, _entity(1), _entity(1)),
    "empty": b"",
    **{name: _results(FOUND, _entity(2), raw) for name, raw in ENTITIES.items()},
}


def _done(result: Any) -> Any:
    future = Future()
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future


def _outcome_of(result: Any) -> Any:
    """Give a batch of three keys, one of them twice, the result of its call."""
    batch = _datastore_api._LookupBatch(ReadOptions())
    futures = [batch.add(_key(number)) for number in (1, 2, 3, 1)]
    returned = attempt(lambda: batch.lookup_callback(_done(result)))
    [later] = get_context().batches.get(_datastore_api._LookupBatch, {None: None}).values()
    return [
        returned,
        [*batch.todo],
        [_described(future) for future in futures],
        later and [[key, len(waiting)] for key, waiting in later.todo.items()],
    ]


def _described(future: Any) -> Any:
    if not future.done():
        return "waits"
    if future.exception() is not None:
        return attempt(future.result)
    if future.result() is _datastore_api._NOT_FOUND:
        return "not found"
    return describe(model._entity_from_protobuf(future.result()))


def _check(sides: Sides, stock_result: Callable[[], Any], lazy_result: Callable[[], Any]) -> Any:
    with sides.context():
        expected = _outcome_of(stock_result())
    with sides.lazy_context():
        assert _outcome_of(lazy_result()) == expected
    with sides.lazy_context(), lazyentity.eager():
        assert _outcome_of(lazy_result()) == expected
    return expected


@pytest.mark.parametrize("raw", RESPONSES.values(), ids=RESPONSES)
def test_responses(loopback_sides: Sides, raw: bytes) -> None:
    """A lazy response ends the futures as the client's own ends stock ndb's futures."""
    _check(
        loopback_sides,
        lambda: datastore_pb2.LookupResponse.deserialize(raw),
        lambda: LookupResponse.deserialize(raw),
    )


def test_another_response_and_an_error(loopback_sides: Sides) -> None:
    """An application's transport may return the client's own response message; or it fails."""

    def response() -> Any:
        return datastore_pb2.LookupResponse.deserialize(RESPONSES["several"])

    _, _, described, _ = _check(loopback_sides, response, response)
    assert described[0] == described[3] != described[1]
    _, _, described, _ = _check(loopback_sides, LookupError, LookupError)
    assert [each.text for each in described] == ["raised LookupError"] * 4


def test_keys_and_their_futures(loopback_sides: Sides) -> None:
    """Objects that are no keys are refused as by the client; all keys are sent, complete or not.

    The text of a future names the key.
    """
    other_key: Any = type("OtherKey", (Key,), {})
    keys: list[Any] = [None, 5, "Found", Key("Found", project="p"), _key(1)]
    keys.append(other_key("Found", "é", project="p"))

    def added() -> Any:
        batch = _datastore_api._LookupBatch(ReadOptions())
        refused = [isinstance(outcome(batch.add, key), Raised) for key in keys]
        future = batch.add(_key(1))
        assert type(future.info) is str
        text = re.sub(r"<\d+>$", "", repr(future)) + future.info
        return refused, [[key, len(futures)] for key, futures in batch.todo.items()], text

    with loopback_sides.context():
        expected = added()
    assert len(expected[1]) == 3
    assert "Found" in expected[2]
    with loopback_sides.lazy_context():
        assert added() == expected


READS: dict[str, Callable[[ndb.Key], Any]] = {
    "get": lambda key: key.get(use_cache=False),
    "get_multi": lambda key: ndb.get_multi([key], use_cache=False)[0],
}


def _key_of_model(kind: Any, asked: Key, stored: Key, read: str) -> Any:
    response = _done(kind.deserialize(_results(FOUND, _message(stored).SerializeToString())))
    with mock.patch.object(_datastore_api, "make_call", return_value=response):
        found = READS[read](ndb.Key._from_ds_key(asked))
    assert found.number == stored.id
    return found.key._key


@pytest.mark.parametrize("database", [None, "", "d"])
@pytest.mark.parametrize("namespace", [None, "", "n"])
@pytest.mark.parametrize("path", [("Found", 1), ("Above", "é", "Found", 1)])
@pytest.mark.parametrize("read", READS)
def test_the_key_of_a_model(
    loopback_sides: Sides,
    path: tuple[Any, ...],
    namespace: str | None,
    database: str | None,
    read: str,
) -> None:
    """It is as the client makes it of the entity, however the key that was asked for was made."""
    key = Key(*path, project="p", namespace=namespace, database=database)
    with loopback_sides.context():
        expected = _key_of_model(datastore_pb2.LookupResponse, key, key, read)
    with loopback_sides.lazy_context():
        made = _key_of_model(LookupResponse, key, key, read)
    assert vars(made) == vars(expected)
    # get_multi does not decode one that is equal in all attributes.
    assert (made is key) is (read == "get_multi" and "" not in {namespace, database})


_ABOVE = Key("Above", 1, project="p")
_OTHERS = type("KeyOfSomebody", (Key,), {})("Above", 1, project="p")
ODD_KEYS = {
    "a parent two elements above": Key("Between", 2, "Found", 3, parent=_ABOVE),
    "a grandparent": Key("Found", 4, parent=Key("Between", 2, "Below", 3, parent=_ABOVE)),
    "a parent of another class": Key("Found", 5, parent=_OTHERS),
    "a parent": Key("Found", 6, parent=_ABOVE),
    "a falsy namespace": Key("Found", 7, project="p", namespace=False),
    "a falsy database": Key("Found", 8, project="p", database=0),
}


@pytest.mark.parametrize("key", ODD_KEYS.values(), ids=ODD_KEYS)
@pytest.mark.parametrize("read", READS)
def test_the_ancestors_of_the_key_of_a_model(loopback_sides: Sides, key: Key, read: str) -> None:
    """They equal the ancestors of a key that the client makes of the entity."""

    def ancestors(kind: Any) -> Iterator[Any]:
        above = _key_of_model(kind, key, Key(*key.flat_path, project="p"), read)
        while above is not None:
            yield type(above), above.flat_path, above.namespace, above.database
            above = above.parent

    with loopback_sides.context():
        expected = list(ancestors(datastore_pb2.LookupResponse))
    with loopback_sides.lazy_context():
        assert list(ancestors(LookupResponse)) == expected
