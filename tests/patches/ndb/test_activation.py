"""ndb is patched and unpatched while models, calls and contexts exist."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import _eventloop
from google.cloud.ndb.global_cache import _InProcessGlobalCache

import lazyentity
from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.model_snapshots import storages


class Thing(ndb.Model):
    number = ndb.IntegerProperty()
    name = ndb.StringProperty("n")


@pytest.fixture
def thing(client: Any) -> Any:
    """The key of a model."""
    with client.context():
        return Thing(id=1, number=5, name="one").put()


def test_models_go_on_working_after_unpatch(client: Any, thing: Any) -> None:
    lazyentity.patch("ndb")
    with client.context():
        found = thing.get()
    lazyentity.unpatch()
    with client.context():
        stock = thing.get(use_cache=False)
        assert (storages(found), storages(stock)) == ({"LazyValues"}, {"dict"})
        assert repr(found) == repr(stock)
        assert found == stock
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
        while len(sent) < 4:
            assert _eventloop.run1()
        (lazyentity.unpatch if is_patched else lazyentity.patch)()
        (queried,) = futures[1].result()
        for one in (futures[0].result(), queried, next(iterator)):
            assert one.to_dict() == {"name": "one", "number": 5}
        assert next(projected).number == 5
