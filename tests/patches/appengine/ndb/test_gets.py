"""Reads of models by their keys: the calls, the results and the futures are those of stock ndb."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, ClassVar

import pytest
from google.appengine.api import apiproxy_stub_map, memcache, namespace_manager
from google.appengine.ext import ndb
from google.appengine.ext.ndb import context, model, tasklets

import lazyentity
from tests.patches.appengine.ndb.handmade import Address, Cat, Person
from tests.patches.appengine.ndb.services import fresh
from tests.patches.appengine.ndb.snapshots import snapshot
from tests.patches.appengine.services import lazily
from tests.support.snapshots import outcome

pytestmark = pytest.mark.usefixtures("bed")

Scenario = Callable[[], Any]


class Hooked(ndb.Model):
    """A model that tells where its functions run."""

    name = ndb.StringProperty()
    told: ClassVar[list[Any]] = []

    @classmethod
    def _tell(cls, what: str) -> None:
        number = getattr(tasklets.get_context(), "number", None)
        cls.told.append((what, namespace_manager.get_namespace(), number))

    @classmethod
    def _use_cache(cls, key: Any) -> bool:
        cls._tell("cache")
        return True

    @classmethod
    def _memcache_timeout(cls, key: Any) -> int:
        cls._tell("timeout")
        return 7

    @classmethod
    def _pre_get_hook(cls, key: Any) -> None:
        cls._tell("before")

    @classmethod
    def _post_get_hook(cls, key: Any, future: Any) -> None:
        cls._tell("after")
        if future.get_result() is not None and future.get_result().name == "bad":
            raise ValueError("refused")


def keys() -> list[Any]:
    """Keys of several kinds, one twice, one in a namespace, and one of nothing."""
    one = ndb.Key("Person", 1)
    spaced = ndb.Key("Person", 1, namespace="space")
    return [one, ndb.Key("Animal", 1), ndb.Key("Person", 404), one, spaced, ndb.Key("Hooked", 1)]


def store() -> None:
    """Store a few models."""
    namespaced = Person(key=ndb.Key("Person", 1, namespace="space"), name="spaced")
    person = Person(id=1, name="one", home=Address(street="s"), photo=b"photo")
    ndb.put_multi([person, Cat(id=1, legs=4), namespaced, Hooked(id=1, name="hooked")])


def told(service: str, call: str, request: Any) -> Any:
    """Describe a call; the order of keys is that of a set."""
    if (service, call) != ("memcache", "Set"):
        lines = str(request).splitlines()
        # Each transaction has a number of its own.
        return service, call, sorted(line for line in lines if "handle:" not in line)
    items = []
    for item in request.item:
        value: Any = item.value
        if value != b"0":
            value = model.entity_pb2.EntityProto()
            value.MergeFromString(item.value)
        cas = item.for_cas, item.HasField("cas_id")
        items.append((item.key, str(value), item.set_policy, item.expiration_time, cas))
    return service, call, request.name_space, sorted(items)


@contextmanager
def recorded(calls: list[Any]) -> Iterator[None]:
    """Put what is called inside into a list."""
    hooks = apiproxy_stub_map.apiproxy.GetPreCallHooks()
    hooks.Append("record", lambda *args: calls.append(told(*args[:3])))
    try:
        yield
    finally:
        hooks.Clear()


class _Texts(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # Without the text of the generator, in which lines are numbered.
        self.texts.append(record.getMessage().partition(" raised ")[2])


def run(scenario: Scenario) -> Any:
    """Run a scenario on the same contents; return all that can be seen of it."""
    fresh()
    namespace_manager.set_namespace("")
    ndb.delete_multi(ndb.Query(namespace="").fetch(keys_only=True), use_memcache=False)
    store()
    memcache.flush_all()
    fresh().number = 0
    Hooked.told.clear()
    calls: list[Any] = []
    texts = _Texts()
    logging.getLogger().addHandler(texts)
    try:
        with recorded(calls):
            result = snapshot(outcome(scenario))
    finally:
        logging.getLogger().removeHandler(texts)
        namespace_manager.set_namespace("")
    cached = tasklets.get_context()._cache
    # Of several requests at a time, any may be answered first.
    seen = [sorted(each, key=repr) for each in (calls, texts.texts, Hooked.told)]
    return result, *seen, snapshot(sorted(cached.values(), key=repr))


def check(scenario: Scenario) -> Any:
    """Check that a scenario is the same lazily; return its result."""
    stock = run(scenario)
    with lazily():
        assert run(scenario) == stock
        with lazyentity.eager():
            assert run(scenario) == stock
    return stock[0]


FLAGS = list(product([True, False], repeat=3))


@pytest.mark.parametrize(("use_cache", "use_memcache", "use_datastore"), FLAGS)
def test_options(use_cache: bool, use_memcache: bool, use_datastore: bool) -> None:
    """Read twice, so that the second may come from a cache; then with only some of it cached."""

    def read() -> Any:
        options = {
            "use_cache": use_cache,
            "use_memcache": use_memcache,
            "use_datastore": use_datastore,
        }
        first = ndb.get_multi(keys(), **options)
        fresh().number = 1
        ndb.Key("Person", 1).get(use_cache=False)
        second = ndb.get_multi(keys(), **options)
        same = (first[0] is first[3], second[0] is second[3])
        return [*first, *second, *same]

    check(read)


def test_order_of_calls() -> None:
    """A key that is nowhere cached is locked in memcache before it is looked up."""

    def calls() -> list[Any]:
        memcache.flush_all()
        fresh()
        made: list[Any] = []
        with recorded(made):
            ndb.Key("Person", 1).get()
        return made

    store()
    stock = calls()
    assert [call for _, call, *_ in stock] == ["Get", "Set", "Get", "Get", "Set"]
    with lazily():
        assert calls() == stock


def _locked() -> Any:
    key = ndb.Key("Person", 1)
    memcache.set(context.Context._memcache_prefix + key.urlsafe(), 0)
    return ndb.get_multi(keys())


def _strange(value: Any) -> Any:
    for key in keys():
        memcache.set(context.Context._memcache_prefix + key.urlsafe(), value)
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


SCENARIOS: dict[str, Scenario] = {
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
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name: str) -> None:
    """Also the calls, the log, the functions of the application and the context's cache."""
    check(SCENARIOS[name])


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
