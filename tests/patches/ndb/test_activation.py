"""ndb is patched and unpatched while models, calls and contexts exist."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore import Entity, helpers
from google.cloud.ndb import _eventloop, model
from google.cloud.ndb.global_cache import _InProcessGlobalCache

import lazyentity
from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.describing import storages
from tests.support.forks import answer


class Thing(ndb.Model):
    number = ndb.IntegerProperty()
    name = ndb.StringProperty("n")


_READ = """
import json
from google.cloud import ndb
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity
from tests.patches.ndb.clients import make_client
Thing = type("Thing", (ndb.Model,), {{"number": ndb.IntegerProperty()}})
client = make_client({loopback!r}, namespace={namespace!r})
with client.context():
    key = Thing(id=1, number=5).put()
with client.context():
    found = key.get()
made = helpers.entity_from_protobuf(entity.Entity())
print(json.dumps([found.number, type(found._values).__name__, type(made).__name__]))
"""


@pytest.mark.parametrize("call", ["patch()", 'patch("ndb")'])
@pytest.mark.parametrize("clients", [("ndb", "datastore"), ("datastore", "ndb")])
@pytest.mark.parametrize("place", [0, 1])
def test_orders_of_imports(
    loopback: str, namespace: str, call: str, clients: tuple[str, ...], place: int
) -> None:
    """The order of imports and of patch() does not matter."""
    steps = [f"from google.cloud import {client}" for client in clients]
    steps.insert(place, f"import lazyentity; lazyentity.{call}")
    program = "\n".join(steps) + _READ.format(loopback=loopback, namespace=namespace)
    kind = "LazyEntity" if call == "patch()" else "Entity"
    assert answer("-c", program) == [5, "LazyValues", kind]


def test_get_multi_is_the_function_of_its_module() -> None:
    """Pickle demands it of a function that stands in two modules."""
    original = ndb.get_multi
    for _ in range(2):
        lazyentity.patch("ndb", strict=True)
        assert ndb.get_multi is not original
        assert pickle.loads(pickle.dumps(ndb.get_multi)) is ndb.get_multi
        lazyentity.unpatch()
        assert ndb.get_multi is model.get_multi is original


@pytest.fixture
def thing(client: Any) -> Any:
    """The key of a model."""
    with client.context():
        return Thing(id=1, number=5, name="one").put()


def test_models_go_on_working_after_unpatch(client: Any, thing: Any) -> None:
    lazyentity.patch("ndb")
    with client.context():
        found, queried = thing.get(), Thing.query().get(use_cache=False)
    # Another client was not patched.
    made = helpers.entity_from_protobuf(helpers.entity_to_protobuf(Entity()))
    assert type(made) is Entity
    lazyentity.unpatch()
    with client.context():
        stock = thing.get(use_cache=False)
        assert (storages(found), storages([stock])) == ({"LazyValues"}, {"dict"})
        assert repr(found) == repr(stock)
        assert found.to_dict() == {"name": "one", "number": 5}
        assert queried.name == "one"
        assert found == queried == stock
        found.number += 1
        found.put()
    with client.context():
        assert thing.get().number == 6


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("is_patched", [True, False], ids=["unpatch", "patch"])
def test_calls_in_flight(
    client: Any, thing: Any, monkeypatch: pytest.MonkeyPatch, is_cached: bool, is_patched: bool
) -> None:
    """A call that was sent before patch() or unpatch() is answered after it."""
    monkeypatch.setattr(_InProcessGlobalCache, "cache", {})
    cache = _InProcessGlobalCache() if is_cached else None
    if is_patched:
        lazyentity.patch()
    with client.context(global_cache=cache), counted_calls() as sent:
        query = Thing.query()
        futures = [thing.get_async(), query.fetch_async(use_cache=False)]
        iterator, projected = query.iter(use_cache=False), query.iter(projection=["number"])
        assert iterator.has_next()
        assert projected.has_next()
        futures += [query.fetch_async(limit=1, use_cache=False)]
        while len(sent) < 5:
            assert _eventloop.run1()
        (lazyentity.unpatch if is_patched else lazyentity.patch)()
        (queried,), (limited,) = futures[1].result(), futures[2].result()
        for one in (futures[0].result(), queried, limited, next(iterator)):
            assert one.to_dict() == {"name": "one", "number": 5}
        assert next(projected).number == 5
    assert sorted(sent) == ["lookup", *["run_query"] * 4]
