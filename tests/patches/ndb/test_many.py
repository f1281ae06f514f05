"""``get_multi`` gives stock ndb's results, and steps aside where code of the application runs."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import entity_to_protobuf
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.ndb import _datastore_api
from google.cloud.ndb.context import get_context
from google.cloud.ndb.tasklets import Future

import lazyentity
from lazyentity.patches.api.responses import LookupResponse
from tests.patches.ndb.model_snapshots import attempt
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import Hooked, Item, item_keys, stored_keys

SCENARIOS = Scenarios()


class Found(ndb.Model):
    number = ndb.IntegerProperty()


def _key(number: int) -> Key:
    return Key("Found", number, project="p")


def _response(found: str, missing: str = "", deferred: str = "") -> bytes:
    """Serialise a response with the entities of some numbers."""

    def results(numbers: str) -> list[Any]:
        entities = [Entity(_key(int(number))) for number in numbers]
        for entity in entities:
            entity["number"] = entity.key.id
        return [{"entity": entity_to_protobuf(entity)} for entity in entities]

    made = datastore_pb2.LookupResponse(
        found=results(found),
        missing=results(missing),
        deferred=[_key(int(number)).to_protobuf() for number in deferred],
    )
    raw: bytes = datastore_pb2.LookupResponse.serialize(made)
    return raw


RESPONSES = {
    "several": _response("213"),
    "some are missing": _response("2", missing="13"),
    "some are deferred": _response("2", deferred="13"),
    "one is there twice": _response("11"),
    "empty": b"",
}


def _done(result: Any) -> Any:
    future = Future()
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future


def _keys() -> list[Any]:
    """Return keys of every class, of no entity, and one for the second time."""
    return [*stored_keys(), *item_keys(99, 2), ndb.Key("Constructed", 1), ndb.Key("Hooked", 2)]


def _cached() -> list[Any]:
    """Return the names of the keys in the cache of the context, and which of them have a model."""
    cache = get_context().cache
    return sorted((key.flat(), found is not None) for key, found in cache.items())


@SCENARIOS(lazy=None)
def keys_of_every_class() -> Any:
    """In whatever they are given, with a cached model, a cached deletion and a changed key."""
    keys = _keys()
    Hooked.got.clear()
    found = [ndb.get_multi(keys), ndb.get_multi(tuple(keys)), ndb.get_multi(iter(keys))]
    get_context().cache[keys[0]] = None
    found[0][1]._key = ndb.Key("Item", 77)
    found += [ndb.get_multi(keys), ndb.get_multi(keys=keys), ndb.get_multi([])]
    found.append(ndb.get_multi(keys, use_cache=False))
    return found, _cached(), [*Hooked.got], Hooked.asked[-3:]


@SCENARIOS()
def keys_without_hooks() -> Any:
    """One call for all: with a model that got another key, and with a cached deletion."""
    keys = item_keys(1, 2, 99, 1)
    first = ndb.get_multi(keys)
    first[3]._key = ndb.Key("Item", 77)
    get_context().cache[keys[1]] = None
    return first, ndb.get_multi(keys), ndb.get_multi(keys, use_cache=False), _cached()


@SCENARIOS(lazy=None)
def in_tasklets() -> Any:
    """Calls within calls, and in the context of a transaction."""
    seen: list[Any] = []

    @ndb.tasklet
    def get(*numbers: int) -> Any:
        first = yield ndb.Key(Item, numbers[0]).get_async()
        found = ndb.get_multi(item_keys(*numbers))
        seen.append((numbers, _cached()))
        return first, found

    futures = [get(1, 2), get(3, 4), get(2, 5)]
    found = [future.result() for future in futures]
    return found, seen, ndb.transaction(lambda: ndb.get_multi(item_keys(7, 1))), _cached()


@pytest.mark.parametrize("name", [*RESPONSES, "error"])
def test_responses(loopback_sides: Sides, name: str) -> None:
    """Any response of a server gives what it gives with stock ndb; so does a failure."""
    keys = [ndb.Key._from_ds_key(_key(number)) for number in (1, 2, 3, 1)]

    def got(kind: Any) -> Any:
        answers = [RESPONSES.get(name), _response("312")]

        def call(*_args: Any, **_options: Any) -> Any:
            raw = answers.pop(0)
            return _done(LookupError("failed") if raw is None else kind.deserialize(raw))

        with mock.patch.object(_datastore_api, "make_call", call):
            return attempt(lambda: ndb.get_multi(keys, use_cache=False)), len(answers)

    with loopback_sides.context():
        expected = got(datastore_pb2.LookupResponse)
    for kind in (LookupResponse, datastore_pb2.LookupResponse):
        with loopback_sides.lazy_context():
            assert got(kind) == expected
        with loopback_sides.lazy_context(), lazyentity.eager():
            assert got(kind) == expected


test_scenarios = SCENARIOS.on_one_server()
