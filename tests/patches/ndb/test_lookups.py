"""A batch of lookups gets stock ndb's results for any response of the server."""

from __future__ import annotations

import functools
import gc
import logging
import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import wrapt
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import entity_to_protobuf
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.ndb import _datastore_api, model, utils
from google.cloud.ndb._options import ReadOptions
from google.cloud.ndb.context import get_context
from google.cloud.ndb.tasklets import Future

import lazyentity
from lazyentity.patches.api.responses import LookupResponse
from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.describing import attempt, describe
from tests.patches.ndb.sides import Sides
from tests.support.strategies import wire
from tests.support.strategies.schema import ENTITY, KEY, PARTITION, PATH_ELEMENT

FOUND, MISSING, DEFERRED = 1, 2, 3


class Found(ndb.Model):
    number = ndb.IntegerProperty()


def _key(number: int) -> Key:
    return Key("Found", number, project="p")


def _entity(number: int) -> bytes:
    entity = Entity(_key(number))
    entity["number"] = number
    raw: bytes = entity_to_protobuf(entity)._pb.SerializeToString()
    return raw


def _without_key(number: int) -> bytes:
    message = entity_pb2.Entity.deserialize(_entity(number))
    message._pb.ClearField("key")
    raw: bytes = message._pb.SerializeToString()
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
    key, rest = wire.encode(fields), _without_key(1)
    return key + rest if before else rest + key


_WHOLE = wire.message(ENTITY.key, *_key_fields(1))
_PARTS = [wire.message(ENTITY.key, field) for field in _key_fields(1)]

ENTITIES = {
    "as servers send it": _entity(1),
    "key after the properties": _with_key(_WHOLE, before=False),
    "key in two": _with_key(*_PARTS),
    "key in two, the path first": _with_key(*reversed(_PARTS)),
    "the path before the project": _with_key(
        wire.message(ENTITY.key, *reversed(_key_fields(1))),
    ),
    "a longer tag": _with_key(_WHOLE._replace(padding=2)),
    "an unknown field in the key": _with_key(
        wire.message(ENTITY.key, *_key_fields(1), wire.integer(1000, 5))
    ),
    "an unknown field in the entity": _with_key(wire.integer(1000, 5), _WHOLE),
    "a key that was not asked for": _entity(77),
    "no key": _without_key(1),
    "another key within the first": _with_key(
        wire.message(ENTITY.key, *_key_fields(1)),
        wire.message(
            ENTITY.key,
            wire.message(
                KEY.path,
                wire.delimited(PATH_ELEMENT.kind, "Found"),
                wire.integer(PATH_ELEMENT.id, 2),
            ),
        ),
    ),
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
    """A lazy response ends the futures as the client's own ends those of stock ndb."""
    _check(
        loopback_sides,
        lambda: datastore_pb2.LookupResponse.deserialize(raw),
        lambda: LookupResponse.deserialize(raw),
    )


def test_another_response(loopback_sides: Sides) -> None:
    """So does the client's own response message, which an application's transport may return."""

    def response() -> Any:
        return datastore_pb2.LookupResponse.deserialize(RESPONSES["several"])

    _, _, described, _ = _check(loopback_sides, response, response)
    assert described[0] == described[3] != described[1]


def test_a_call_that_failed(loopback_sides: Sides) -> None:
    """Every future gets the error."""
    _, _, described, _ = _check(loopback_sides, LookupError, LookupError)
    assert described == [["raised", "LookupError"]] * 4


def test_keys_that_are_refused(loopback_sides: Sides) -> None:
    """Objects that are no keys are refused as by the client; all keys are sent, complete or not."""

    class OtherKey(Key):
        pass

    keys: list[Any] = [None, 5, "Found", Key("Found", project="p"), _key(1)]
    other_key: Any = OtherKey
    keys.append(other_key("Found", "é", project="p"))

    def outcome() -> Any:
        batch = _datastore_api._LookupBatch(ReadOptions())
        added = [attempt(functools.partial(batch.add, key))[0] for key in keys]
        return added, [[key, len(futures)] for key, futures in batch.todo.items()]

    with loopback_sides.context():
        expected = outcome()
    assert len(expected[1]) == 3
    with loopback_sides.lazy_context():
        assert outcome() == expected


def test_what_the_future_says(loopback_sides: Sides) -> None:
    """The future of a lookup names the key."""

    def text() -> str:
        future = _datastore_api._LookupBatch(ReadOptions()).add(_key(1))
        assert type(future.info) is str
        return re.sub(r"<\d+>$", "", repr(future)) + future.info

    with loopback_sides.context():
        expected = text()
    assert "Found" in expected
    with loopback_sides.lazy_context():
        assert text() == expected


def test_hooks_of_all_models(loopback_sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that an application sets on ``Model`` itself is called for every get."""
    called: list[Any] = []

    def hook(_cls: Any, key: Any, future: Any) -> None:
        called.append((key.id(), future.done()))

    def scenario() -> Any:
        called.clear()
        ndb.get_multi([ndb.Key("Item", number) for number in (1, 2)])
        return [*called]

    hooks = [
        classmethod(hook),
        staticmethod(functools.partial(hook, None)),
        # Passes for the method that it wraps.
        wrapt.FunctionWrapper(
            vars(ndb.Model)["_post_get_hook"], lambda _wrapped, _, args, _options: hook(None, *args)
        ),
    ]
    for made in hooks:
        with monkeypatch.context() as patch:
            patch.setattr(ndb.Model, "_post_get_hook", made)
            assert loopback_sides.check(scenario, lazy=None)[1] != []


def test_encoders_of_keys(loopback_sides: Sides) -> None:
    """A replacement of the client's ``Key.to_protobuf`` encodes the keys."""
    original: Any = Key.to_protobuf

    def other(key: Key) -> Any:
        message = original(key)
        message._pb.path[0].id = 3
        return message

    def wrapper(_wrapped: Any, key: Any, _args: Any, _options: Any) -> Any:
        return other(key)

    wrapped = wrapt.FunctionWrapper(original, wrapper)

    def scenario() -> Any:
        found = []
        for encoder in (other, wrapped):
            with mock.patch.object(Key, "to_protobuf", encoder):
                found.append(ndb.get_multi([ndb.Key("Item", 1)], use_cache=False)[0].number)
        return found

    assert loopback_sides.check(scenario, lazy=None) == describe([3, 3])


def test_debugging(loopback_sides: Sides, caplog: pytest.LogCaptureFixture) -> None:
    """The logs of ndb are the same with debugging on."""
    caplog.set_level(logging.DEBUG, _datastore_api.log.name)

    def scenario() -> Any:
        caplog.clear()
        ndb.get_multi([ndb.Key("Item", number) for number in (1, 2)])
        # The number of the context comes first.
        texts = [record.message.partition(": ")[2] for record in caplog.records]
        return [text.partition(" ")[0] for text in texts]

    with mock.patch.object(utils, "DEBUG", new=True):
        assert "found" in str(loopback_sides.check(scenario, lazy=None))


def test_more_keys_than_a_call_takes(loopback_sides: Sides) -> None:
    """They are divided as by stock ndb."""

    def scenario() -> Any:
        with counted_calls() as calls:
            found = ndb.get_multi([ndb.Key("Item", number) for number in range(1, 2003)])
        return calls, [entity is not None for entity in found]

    assert loopback_sides.check(scenario, lazy=None)[1][0] == describe(["lookup"] * 3)


@pytest.mark.parametrize("asked_inside", [True, False])
def test_contexts_in_contexts(loopback_sides: Sides, asked_inside: bool) -> None:
    """The model goes to the cache of the requesting context."""

    def scenario() -> Any:
        outer = get_context()
        inner = outer.new()
        keys = [ndb.Key("Item", number) for number in (1, 2, 99)]
        if asked_inside:
            with inner.use():
                futures = ndb.get_multi_async(keys)
            found = [future.result() for future in futures]
        else:
            futures = ndb.get_multi_async(keys)
            with inner.use():
                found = [future.result() for future in futures]
        caches = [sorted(key.id() for key in context.cache) for context in (outer, inner)]
        return found, caches, get_context() is outer

    loopback_sides.check(scenario)


def test_futures_without_a_context(loopback_sides: Sides) -> None:
    """A future that is done has its result anywhere; waiting for one needs a context."""

    def outcomes(context: Any) -> list[Any]:
        with context:
            done, waiting = ndb.get_multi_async([ndb.Key("Item", 1), ndb.Key("Item", 2)])
            waiting_for_more = ndb.Key("Item", 3).get_async(use_cache=False, timeout=7)
            done.check_success()
            described = describe(waiting.result())
        # The first call has brought both, the second was not made.
        return [described, describe(done.result()), attempt(waiting_for_more.result)]

    expected = outcomes(loopback_sides.context())
    with loopback_sides.lazily():
        assert outcomes(loopback_sides.context()) == expected


def test_nothing_is_left_for_the_collector(loopback_sides: Sides) -> None:
    """Models that were got are gone with the last reference to them."""
    with loopback_sides.lazy_context(cache_policy=False):
        ndb.get_multi([ndb.Key("Item", 1)])
        gc.collect()
        gc.disable()
        try:
            found = ndb.get_multi([ndb.Key("Item", number) for number in (1, 2, 3)])
            kind = type(found[0])
            del found
            left = [seen for seen in gc.get_objects() if type(seen) is kind]
        finally:
            gc.enable()
    assert left == []
