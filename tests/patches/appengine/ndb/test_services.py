"""Reads and writes through ndb: the same calls, results and futures as stock ndb."""

from __future__ import annotations

import functools
from itertools import product
from typing import Any

import pytest
from google.appengine.api import apiproxy_stub_map, memcache, namespace_manager
from google.appengine.ext import ndb
from google.appengine.ext.ndb import context, eventloop, model, tasklets

from tests.patches.appengine.ndb.sides import Hooked, Scenario, check, keys, recorded, store
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


def test_order_of_calls() -> None:
    """A key that is nowhere cached is locked in memcache before it is looked up."""

    def calls() -> list[Any]:
        memcache.flush_all()
        fresh()
        with recorded() as made:
            ndb.Key("Person", 1).get()
        return made

    store()
    stock = calls()
    assert [call for _, call, *_ in stock] == ["Get", "Set", "Get", "Get", "Set"]
    with lazily():
        assert calls() == stock


def _locked() -> Any:
    memcache.set(context.Context._memcache_prefix + keys()[0].urlsafe(), 0)
    return ndb.get_multi(keys())


def _strange(value: Any) -> Any:
    for key in keys():
        memcache.set(context.Context._memcache_prefix + key.urlsafe(), value)
    # All of them, as tasklets that are left fail later.
    return [outcome(future.get_result) for future in ndb.get_multi_async(keys())]


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


def _of_other_thread_state() -> Any:
    """Ask in one context and namespace, wait in another."""
    namespace_manager.set_namespace("space")
    futures = [ndb.Key("Hooked", 1, namespace="").get_async(), ndb.Key("Person", 1).get_async()]
    fresh().number = 2
    namespace_manager.set_namespace("other")
    results = [future.get_result() for future in futures]
    return [*results, namespace_manager.get_namespace(), tasklets.get_context().number]


def _policies() -> Any:
    ctx = tasklets.get_context()
    ctx.set_cache_policy(lambda key: key.id() == 1)
    ctx.set_memcache_policy(lambda key: key.kind() == "Person")
    ctx.set_datastore_policy(lambda key: None)
    ctx.set_memcache_timeout_policy(lambda key: 5)
    return [*ndb.get_multi(keys()), *ndb.get_multi(keys())]


def _changed_by_policy() -> Any:
    """A policy that leaves another namespace and context behind affects its tasklet alone."""
    here = tasklets.get_context()
    other = context.Context(model.make_connection())
    other.number = 3

    def policy(key: Any) -> bool:
        namespace_manager.set_namespace("changed")
        tasklets.set_context(other)
        return True

    here.set_cache_policy(policy)
    found = ndb.get_multi(keys())
    return [*found, namespace_manager.get_namespace(), tasklets.get_context() is here]


def _raising_policy() -> Any:
    def policy(key: Any) -> bool:
        raise LookupError("no policy")

    tasklets.get_context().set_memcache_policy(policy)
    futures = ndb.get_multi_async(keys())
    return [outcome(future.get_result) for future in futures]


def _rolled_back() -> Any:
    def change() -> None:
        ndb.Key("Person", 1).get()
        raise ndb.Rollback

    return ndb.transaction(change)


def _of_subclass() -> Any:
    class Other(context.Context):
        def _use_memcache(self, key: Any, options: Any = None) -> bool:
            return False

    tasklets.set_context(Other(model.make_connection()))
    tasklets.get_context().number = 4
    return ndb.get_multi(keys())


def _hook_raises() -> Any:
    Hooked(id=2, name="bad").put()
    tasklets.get_context().clear_cache()
    futures = ndb.get_multi_async([ndb.Key("Hooked", 2), *keys()])
    return [outcome(future.get_result) for future in futures]


def _many() -> Any:
    """More than a batch of memcache takes."""
    config = context.ContextOptions(max_memcache_items=2)
    tasklets.set_context(context.Context(model.make_connection(), config=config))
    tasklets.get_context().number = 5
    return ndb.get_multi(keys())


def _with_others() -> Any:
    """A tasklet of the application waits for the same calls of memcache."""
    key = ndb.Key("Person", 1)
    ctx = tasklets.get_context()
    future = key.get_async()
    name = context.Context._memcache_prefix + key.urlsafe()
    value = ctx.memcache_get(name, for_cas=True, namespace="", use_cache=True)
    return [value.get_result(), future.get_result()]


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


@ndb.tasklet
def _names() -> Any:
    people = yield Person.query().fetch_async()
    again = yield [person.key.get_async() for person in people]
    raise ndb.Return(sorted(person.name for person in again))


def _pages() -> Any:
    found, cursor, more = Person.query().fetch_page(1)
    others, _, _ = Person.query().fetch_page(1, start_cursor=cursor)
    return [*found, *others, more]


def _among_other_events() -> Any:
    """Futures that wait for nothing end in their first event."""
    key = ndb.Key("Person", 1)
    order: list[str] = []
    found = key.get()
    key.get_async().add_callback(order.append, "cached")
    key.get_async(use_cache=False, use_memcache=False, use_datastore=False).add_callback(
        order.append, "nowhere"
    )

    def event(name: str, *others: str) -> None:
        order.append(name)
        if others:
            eventloop.queue_call(None, event, *others)

    eventloop.queue_call(None, event, "first", "second", "third")
    eventloop.run()
    return [found, order]


SCENARIOS: dict[str, Scenario] = {
    "among other events": _among_other_events,
    "locked": _locked,
    "not an entity": functools.partial(_strange, b"\xff\xff"),
    "not bytes": functools.partial(_strange, ["list"]),
    "too large": _too_large,
    "no Datastore": functools.partial(_each_fails, "datastore_v3", "Get"),
    "no memcache": functools.partial(_each_fails, "memcache", "Get"),
    "no memcache to write": functools.partial(_each_fails, "memcache", "Set"),
    "the state of the thread": _of_other_thread_state,
    "policies": _policies,
    "a policy that changes the state": _changed_by_policy,
    "a policy that raises": _raising_policy,
    "timeout": lambda: ndb.get_multi(keys(), memcache_timeout=9, memcache_deadline=3),
    "wrong options": lambda: ndb.Key("Person", 1).get(use_cache="no"),
    "unknown options": lambda: ndb.Key("Person", 1).get(unknown=1),
    "transaction": lambda: ndb.transaction(lambda: ndb.Key("Person", 1).get()),
    "rolled back": _rolled_back,
    "another context": _of_subclass,
    "a hook that raises": _hook_raises,
    "many": _many,
    "with others": _with_others,
    "tasklets": lambda: _tasklet().get_result(),
    "no key": lambda: tasklets.get_context().get(None).get_result(),
    "get": lambda: [ndb.Key("Everything", 5).get()],
    "get_multi": lambda: ndb.get_multi(keys()),
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
    "iteration": lambda: list(Person.query().iter()),
    "map": lambda: Person.query().map(lambda person: person.name),
    "pages": _pages,
    "keys": lambda: Person.query().fetch(keys_only=True),
    "tasklets of a query": lambda: _names().get_result(),
    "put": _read_change_put,
    "put untouched": _untouched,
    "changed in a transaction": _in_transaction,
    "projection": lambda: Person.query().fetch(projection=[Person.name]),
}


NOT_LAZY: dict[str, bool | None] = {
    **dict.fromkeys(("get_or_insert", "pages", "query of all")),
    "projection": False,
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
        found = Anything.get_by_id(1)
        found.known = 5
        found.put()
        assert b"other" in found._values._undecoded()


def test_futures_can_be_shown() -> None:
    """At every step; the text names the tasklet that ndb would run."""
    with lazily():
        store()
        memcache.flush_all()
        fresh().number = 0
        future = ndb.Key("Person", 1).get_async()
        assert type(future).__name__ == "Get"
        shown = set()
        while not future.done():
            shown.add(future.dump_stack().count("waiting for"))
            assert "tasklet get(context.py:" in future.dump()
            tasklets.eventloop.run1()
        assert shown == {0, 1}
        assert future.get_result().name == "one"
