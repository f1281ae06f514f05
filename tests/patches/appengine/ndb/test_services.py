"""Reads and writes through ndb over the services in memory: all that can be seen is stock's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, ClassVar

import pytest
from google.appengine.api import apiproxy_stub_map, memcache
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model, tasklets

import lazyentity
from tests.patches.appengine.ndb.pairs import fixed_now, snapshot
from tests.patches.appengine.ndb.strategies import (
    Address,
    Animal,
    Anything,
    Cat,
    Person,
    shop,
)
from tests.patches.appengine.services import fresh, lazily
from tests.patches.models.pairs import is_lazy
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("bed")

Scenario = Callable[[], Any]


class Hooked(ndb.Model):
    """A model that tells of its reads, one of which it refuses."""

    name = ndb.StringProperty()
    told: ClassVar[list[Any]] = []

    @classmethod
    def _pre_get_hook(cls, key: Any) -> None:
        cls.told.append(("before", key.id()))

    @classmethod
    def _post_get_hook(cls, key: Any, future: Any) -> None:
        cls.told.append(("after", key.id()))
        if future.get_result() is not None and future.get_result().name == "bad":
            raise ValueError("refused")


def keys() -> list[Any]:
    """Keys of several kinds, one twice, one in a namespace, and one of nothing."""
    one = ndb.Key("Person", 1)
    return [
        *(one, ndb.Key("Animal", 1), ndb.Key("Person", 404), one),
        *(ndb.Key("Person", 1, namespace="space"), ndb.Key("Hooked", 1)),
        *(ndb.Key("Person", 1, "Person", "two"), ndb.Key("Anything", 1)),
    ]


def store() -> None:
    """Store a few models."""
    home = Address(street="Home")
    ndb.put_multi(
        [
            shop(),
            Person(id=1, name="one", home=home, photo=b"photo"),
            Person(id="two", name="two", photo=b"photo", parent=ndb.Key("Person", 1)),
            Person(key=ndb.Key("Person", 1, namespace="space"), name="spaced"),
            Cat(id=1, legs=4, whiskers=5),
            Animal(id=2, legs=3),
            Anything(id=1, known=1, other="o", some=[1, 2]),
            # ndb makes this one: a structured property that no class defines.
            Anything(id=2, place=home),
            Hooked(id=1, name="hooked"),
            Hooked(id=2, name="bad"),
        ]
    )


@contextmanager
def calls_and_cached() -> Iterator[list[Any]]:
    """Give a list that gets the calls of services, with the entities that memcache gets."""
    calls: list[Any] = []

    def tell(service: str, call: str, request: Any, *_: Any) -> None:
        sets = request.item if (service, call) == ("memcache", "Set") else []
        entities = [outcome(model.entity_pb2.EntityProto.FromString, each.value) for each in sets]
        texts = sorted(str(each) for each in entities if not isinstance(each, Raised))
        calls.append((service, call, texts))

    hooks = apiproxy_stub_map.apiproxy.GetPreCallHooks()
    hooks.Append("tell", tell)
    try:
        yield calls
    finally:
        hooks.Clear()


def _run(scenario: Scenario, lazy: bool | None) -> Any:
    fresh()
    ndb.delete_multi(ndb.Query(namespace="").fetch(keys_only=True), use_memcache=False)
    store()
    memcache.flush_all()
    fresh()
    Hooked.told.clear()
    with fixed_now(), calls_and_cached() as calls:
        result = outcome(scenario)
        if lazy is not None and isinstance(result, list):
            models = [each for each in result if isinstance(each, ndb.Model)]
            # ndb makes models of entities with properties that their class lacks.
            models = [each for each in models if not isinstance(each, Anything)]
            assert {is_lazy(each) for each in models} <= {lazy}
        result = outcome(snapshot, result)
    # Of several requests at a time, any may be answered first.
    seen = [sorted(each, key=repr) for each in (calls, Hooked.told)]
    seen.append(snapshot(sorted(tasklets.get_context()._cache.values(), key=repr)))
    fresh()
    return result, *seen, snapshot(ndb.Query().order(ndb.Model.key).fetch())


def _read_change_put() -> Any:
    found = ndb.get_multi([ndb.Key("Shop", 5), keys()[0]])
    found[0].string = "b"
    found[1].name = "changed"
    return ndb.put_multi(found)


def _in_transaction() -> Any:
    def change() -> Any:
        person = ndb.Key("Person", 1).get()
        person.name += "!"
        person.put()
        return person.name

    return ndb.transaction(change)


def _twice(**options: Any) -> Any:
    """Read so that the second time the models may come from a cache."""
    first = ndb.get_multi(keys(), **options)
    fresh()
    ndb.Key("Person", 1).get(use_cache=False)
    second = ndb.get_multi(keys(), **options)
    return [*first, *second, first[0] is first[3], second[0] is second[3]]


def _more_than_a_batch() -> Any:
    """Datastore gets at most so many keys in one call."""
    several = [ndb.Key("Person", number) for number in range(1, 1010)]
    return ndb.get_multi(several, use_memcache=False)[:3]


def _hook_raises() -> Any:
    futures = ndb.get_multi_async([ndb.Key("Hooked", 2), *keys()])
    return [outcome(future.get_result) for future in futures]


SCENARIOS: dict[str, Scenario] = {
    "get_multi of memcache": _twice,
    "get_multi without memcache": lambda: _twice(use_memcache=False),
    "more than a batch": _more_than_a_batch,
    "wrong options": lambda: ndb.Key("Person", 1).get(use_cache="no"),
    "a hook that raises": _hook_raises,
    "get_or_insert": lambda: [Person.get_or_insert("new", name="new"), Cat.get_by_id(1)],
    "query of all": lambda: ndb.Query().order(ndb.Model.key).fetch(),
    "query of a hierarchy": lambda: [*Animal.query(), *Cat.query()],
    "put": _read_change_put,
    "put untouched": lambda: ndb.put_multi([each for each in ndb.get_multi(keys()) if each]),
    "changed in a transaction": _in_transaction,
    "projection": lambda: Person.query().fetch(projection=[Person.name]),
}
NOT_LAZY: dict[str, bool | None] = {
    **dict.fromkeys(("get_or_insert", "query of all")),
    "projection": False,
}
"""Scenarios of whose models ndb makes all, or some: None."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name: str) -> None:
    """The result, the calls, the hooks, the context's cache and all that is stored are stock's."""
    scenario, lazy = SCENARIOS[name], NOT_LAZY.get(name, True)
    in_stock = None if lazy is None else False
    stock = _run(scenario, in_stock)
    with lazily():
        assert _run(scenario, lazy) == stock
        with lazyentity.eager():
            assert _run(scenario, in_stock) == stock


@pytest.mark.parametrize("flags", [*product([True, False], repeat=3)], ids=str)
def test_caches(flags: tuple[bool, ...]) -> None:
    """Of any of the places that models can come from."""
    options = dict(zip(("use_cache", "use_memcache", "use_datastore"), flags, strict=True))
    stock = _run(lambda: _twice(**options), False)
    with lazily():
        assert _run(lambda: _twice(**options), True) == stock


def test_nothing_is_read_for_memcache_and_put() -> None:
    """Nor for ndb's text of the call, which would show the whole model."""
    store()
    memcache.flush_all()
    with lazily():
        for _ in ("from Datastore", "from memcache"):
            fresh()
            found = Cat.get_by_id(1)
            assert list(found._values) == found._values._undecoded()
        found.legs = 5
        found.put()
        assert b"w" in found._values._undecoded()
