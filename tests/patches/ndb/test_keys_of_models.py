"""The keys of models that were got by their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import entity_to_protobuf
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.ndb import _datastore_api

from lazyentity.patches.api.responses import LookupResponse
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.test_lookups import FOUND, _done, _results


def _key_of_model(kind: Any, asked: Key, stored: Key) -> Any:
    entity = Entity(stored)
    entity["number"] = 1
    raw = _results(FOUND, entity_to_protobuf(entity)._pb.SerializeToString())
    response = _done(kind.deserialize(raw))
    with mock.patch.object(_datastore_api, "make_call", return_value=response):
        found = ndb.Key._from_ds_key(asked).get(use_cache=False)
    assert found.number == 1
    return found.key._key


@pytest.mark.parametrize("database", [None, "", "d"])
@pytest.mark.parametrize("namespace", [None, "", "n"])
@pytest.mark.parametrize("path", [("Found", 1), ("Above", "é", "Found", 1)])
def test_the_key_of_a_model(
    loopback_sides: Sides, path: tuple[Any, ...], namespace: str | None, database: str | None
) -> None:
    """It is as the client makes it of the entity, however the key that was asked for was made."""
    key = Key(*path, project="p", namespace=namespace, database=database)
    with loopback_sides.context():
        expected = _key_of_model(datastore_pb2.LookupResponse, key, key)
    with loopback_sides.lazy_context():
        made = _key_of_model(LookupResponse, key, key)
    assert vars(made) == vars(expected)
    # One that is equal in all attributes is not decoded.
    assert (made is key) is ("" not in {namespace, database})


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
def test_the_ancestors_of_the_key_of_a_model(loopback_sides: Sides, key: Key) -> None:
    """They are those of a key that the client makes of the entity."""

    def ancestors(kind: Any) -> Iterator[Any]:
        above = _key_of_model(kind, key, Key(*key.flat_path, project="p"))
        while above is not None:
            yield type(above), above.flat_path, above.namespace, above.database
            above = above.parent

    with loopback_sides.context():
        expected = list(ancestors(datastore_pb2.LookupResponse))
    with loopback_sides.lazy_context():
        assert list(ancestors(LookupResponse)) == expected
