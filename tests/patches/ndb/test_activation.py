"""ndb is patched and unpatched, in any order of calls and imports."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("call", ["lazyentity.patch()", 'lazyentity.patch("ndb")'])
class TestOrder:
    """The order of imports and of patch() does not matter."""

    @pytest.mark.parametrize("first", ["ndb", "datastore"])
    @pytest.mark.parametrize("place", [0, 1])
    def test_with_google_cloud_datastore(self, ask: Any, call: str, first: str, place: int) -> None:
        second = {"ndb": "datastore", "datastore": "ndb"}[first]
        steps = [f"from google.cloud import {first}", f"from google.cloud import {second}"]
        steps.insert(place, f"import lazyentity\n{call}")
        program = "\n".join(steps)
        state = ask(
            f"""
{program}
from google.cloud.datastore_v1.types import entity
from google.cloud.datastore import helpers
say(lazy=is_lazy(), datastore=type(helpers.entity_from_protobuf(entity.Entity())).__name__)
"""
        )
        assert state["lazy"]
        assert state["datastore"] == ("Entity" if '"ndb"' in call else "LazyEntity")


class TestUnpatch:
    def test_models_go_on_working(self, ask: Any) -> None:
        state = ask(
            """
import lazyentity
is_lazy()
from google.cloud import ndb
lazyentity.patch("ndb")
with client.context():
    found = ndb.Key(Thing, 1).get()
    queried = Thing.query().fetch()
lazyentity.unpatch()
with client.context():
    texts = [repr(found), found.to_dict(), queried[0].name, found == queried[0]]
    found.number += 1
    found.put()
with client.context():
    again = ndb.Key(Thing, 1).get()
    say(texts=texts, number=again.number, values=type(again._values).__name__)
"""
        )
        key = "Key('Thing', 1, namespace='activation')"
        assert state["texts"] == [
            f"Thing(key={key}, name='one', number=5)",
            {"name": "one", "number": 5},
            *("one", True),
        ]
        assert state["number"] == 6
        assert state["values"] == "dict"


class TestInFlight:
    """A call that was sent before patch() or unpatch() is answered after it."""

    _READS = """
import lazyentity
is_lazy()
from google.cloud import ndb
from google.cloud.ndb import _datastore_api, _eventloop
sent = []
make_call = _datastore_api.make_call
def noting(*args, **kwargs):
    sent.append(args[0])
    return make_call(*args, **kwargs)
_datastore_api.make_call = noting
def send(count):
    while len(sent) < count:
        assert _eventloop.run1()
BEFORE
with client.context(global_cache=CACHE):
    futures = [ndb.Key(Thing, 1).get_async(), Thing.query().fetch_async(use_cache=False)]
    iterator = Thing.query().iter(use_cache=False)
    projected = Thing.query().iter(projection=["number"])
    assert iterator.has_next() and projected.has_next()
    futures += [Thing.query().fetch_async(limit=1, use_cache=False)]
    send(5)
    AFTER
    found = [futures[0].result(), *futures[1].result(), *futures[2].result()]
    found += [next(iterator), next(projected)]
    values = [one.to_dict() if not one._projection else one.number for one in found]
say(values=values, sent=sorted(sent))
"""

    @pytest.mark.parametrize("cache", ["None", "ndb.global_cache._InProcessGlobalCache()"])
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("lazyentity.patch()", "lazyentity.unpatch()"),
            ("", "lazyentity.patch()"),
        ],
        ids=["unpatch", "patch"],
    )
    def test_gives_the_same(self, ask: Any, before: str, after: str, cache: str) -> None:
        state = ask(
            self._READS.replace("BEFORE", before).replace("AFTER", after).replace("CACHE", cache)
        )
        whole = {"name": "one", "number": 5}
        assert state["values"] == [whole, whole, whole, whole, 5]
        assert state["sent"] == ["lookup", *["run_query"] * 4]
