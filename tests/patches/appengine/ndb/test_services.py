"""Reads and writes through ndb: the same calls, results and futures as stock ndb."""

from __future__ import annotations

import functools
from itertools import product
from typing import Any

import pytest
from google.appengine.api import apiproxy_stub_map, memcache
from google.appengine.ext import ndb
from google.appengine.ext.ndb import context, tasklets

from tests.patches.appengine.ndb.sides import Hooked, Scenario, check, keys, store
from tests.patches.appengine.ndb.strategies import Animal, Anything, Cat, Everything, Person
from tests.patches.appengine.services import fresh, lazily
from tests.support.snapshots import outcome

pytestmark = pytest.mark.usefixtures("bed")

_FLAGS = [
    dict(zip(("use_cache", "use_memcache", "use_datastore"), flags, strict=True))
    for flags in product([True, False], repeat=3)
]


@pytest.mark.parametrize("options", _FLAGS, ids=str)
def test_options(options: dict[str, bool]) -> None:
    """Read twice, so that the second may come from a cache; then with only some of it cached."""

    def read() -> Any:
        first = ndb.get_multi(keys(), **options)
        fresh().number = 1
        ndb.Key("Person", 1).get(use_cache=False)
        second = ndb.get_multi(keys(), **options)
        return [*first, *second, first[0] is first[3], second[0] is second[3]]

    check(read)


def _locked() -> Any:
    memcache.set(context.Context._memcache_prefix + keys()[0].urlsafe(), 0)
    return ndb.get_multi(keys())


def _too_large() -> Any:
    ndb.Key("Person", 1).get(use_memcache=False)
    limit = memcache.MAX_VALUE_SIZE
    memcache.MAX_VALUE_SIZE = 10
    try:
        return ndb.get_multi(keys())
    finally:
        memcache.MAX_VALUE_SIZE = limit


def _each_fails(service: str, call: str) -> Any:
    def fail(of: str, method: str, *_: Any) -> None:
        if (of, method) == (service, call):
            raise ValueError("no service")

    hooks = apiproxy_stub_map.apiproxy.GetPreCallHooks()
    hooks.Append("fail", fail)
    results = []
    # A call that fails ends its batch, and which namespaces share one is a matter of time.
    for namespace in ("", "space"):
        futures = ndb.get_multi_async([key for key in keys() if key.namespace() == namespace])
        results += [outcome(future.get_result) for future in futures]
    return results


def _policies() -> Any:
    ctx = tasklets.get_context()
    ctx.set_cache_policy(lambda key: key.id() == 1)
    ctx.set_memcache_policy(lambda key: key.kind() == "Person")
    ctx.set_datastore_policy(lambda key: None)
    ctx.set_memcache_timeout_policy(lambda key: 5)
    return [*ndb.get_multi(keys()), *ndb.get_multi(keys())]


def _rolled_back() -> Any:
    def change() -> None:
        ndb.Key("Person", 1).get()
        raise ndb.Rollback

    return ndb.transaction(change)


def _hook_raises() -> Any:
    Hooked(id=2, name="bad").put()
    tasklets.get_context().clear_cache()
    futures = ndb.get_multi_async([ndb.Key("Hooked", 2), *keys()])
    return [outcome(future.get_result) for future in futures]


@ndb.tasklet
def _tasklet() -> Any:
    first, second = yield ndb.Key("Person", 1).get_async(), ndb.Key("Hooked", 1).get_async()
    third = yield ndb.Key("Person", 404).get_async()
    raise ndb.Return([first, second, third])


def _read_change_put() -> Any:
    found = ndb.get_multi([ndb.Key("Everything", 5), keys()[0]])
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


def _twice() -> Any:
    first = ndb.get_multi(keys())
    fresh()
    second = ndb.get_multi(keys())
    return [*first, *second]


def _untouched() -> Any:
    return [*ndb.put_multi([each for each in ndb.get_multi(keys()) if each is not None])]


SCENARIOS: dict[str, Scenario] = {
    "locked": _locked,
    "too large": _too_large,
    "no Datastore": functools.partial(_each_fails, "datastore_v3", "Get"),
    "no memcache": functools.partial(_each_fails, "memcache", "Get"),
    "no memcache to write": functools.partial(_each_fails, "memcache", "Set"),
    "policies": _policies,
    "timeout": lambda: ndb.get_multi(keys(), memcache_timeout=9, memcache_deadline=3),
    "wrong options": lambda: ndb.Key("Person", 1).get(use_cache="no"),
    "rolled back": _rolled_back,
    "a hook that raises": _hook_raises,
    "tasklets": lambda: _tasklet().get_result(),
    "get_multi without memcache": lambda: ndb.get_multi(keys(), use_memcache=False),
    "get_multi of memcache": _twice,
    "get_by_id": lambda: [Everything.get_by_id(5), Person.get_by_id(2)],
    "get_or_insert": lambda: [Person.get_or_insert("new", name="new"), Cat.get_by_id(1)],
    "query": lambda: Person.query().fetch(),
    "query of all": lambda: ndb.Query().order(ndb.Model.key).fetch(),
    "query with a filter": lambda: Person.query(Person.name == "one").fetch(),
    "query of a hierarchy": lambda: [*Animal.query(), *Cat.query()],
    "query with several filters": lambda: Person.query(Person.name.IN(["one", "two"])).fetch(),
    "query of dynamic properties": lambda: Anything.query(
        ndb.GenericProperty("other") == "o"
    ).fetch(),
    "map": lambda: Person.query().map(lambda person: person.name),
    "keys": lambda: Person.query().fetch(keys_only=True),
    "put": _read_change_put,
    "put untouched": _untouched,
    "changed in a transaction": _in_transaction,
    "projection": lambda: Person.query().fetch(projection=[Person.name]),
}


NOT_LAZY: dict[str, bool | None] = {
    **dict.fromkeys(("get_or_insert", "query of all")),
    "projection": False,
    "query of dynamic properties": False,
}
"""Scenarios of whose models ndb makes all, or some: None."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name: str) -> None:
    check(SCENARIOS[name], lazy=NOT_LAZY.get(name, True))


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
