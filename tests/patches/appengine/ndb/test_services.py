"""Reads and writes through ndb, over the services in memory: stock ndb and lazily."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from google.appengine.api import memcache
from google.appengine.ext import ndb
from google.appengine.ext.ndb import context, model, tasklets, utils

import lazyentity
from tests.patches.appengine.ndb.handmade import (
    Address,
    Animal,
    Anything,
    Cat,
    Everything,
    Person,
    everything,
)
from tests.patches.appengine.ndb.pairs import fixed_now
from tests.patches.appengine.ndb.services import fresh
from tests.patches.appengine.ndb.snapshots import snapshot
from tests.patches.appengine.services import lazily
from tests.patches.models.pairs import is_lazy
from tests.support.concurrency import together
from tests.support.snapshots import outcome

pytestmark = pytest.mark.usefixtures("bed")

Scenario = Callable[[], Any]


def store() -> None:
    """Store a few models."""
    home = Address(street="Home")
    ndb.put_multi(
        [
            everything(),
            Person(id=1, name="one", home=home),
            Person(id="two", name="two", photo=b"photo", parent=ndb.Key("Person", 1)),
            Cat(id=1, legs=4, whiskers=5),
            Animal(id=2, legs=3),
            Anything(id=1, known=1, other="o", some=[1, 2]),
            # ndb makes this one: a structured property that no class defines.
            Anything(id=2, place=home),
        ]
    )


def cached() -> Any:
    """Return what memcache has, as entities."""
    prefix = context.Context._memcache_prefix
    keys = [prefix + key.urlsafe() for key in KEYS()]
    entities = {}
    for key, raw in memcache.get_multi(keys).items():
        message = model.entity_pb2.EntityProto()
        if type(raw) is bytes:
            message.MergeFromString(raw)
        entities[key] = message, raw if type(raw) is not bytes else None
    return [entities[key] for key in sorted(entities)]


def KEYS() -> list[Any]:  # noqa: N802  # as a constant, which needs an application
    return [
        ndb.Key("Everything", 5),
        ndb.Key("Person", 1),
        ndb.Key("Person", 1, "Person", "two"),
        ndb.Key("Animal", 1),
        ndb.Key("Anything", 1),
        ndb.Key("Person", "missing"),
    ]


def both(scenario: Scenario, *, lazy: bool | None = True) -> Any:
    """Check that a scenario gives the same with stock ndb, lazily, and within eager().

    Each time, the services have the same contents before, and have the same after it.

    Args:
        scenario: called with an empty context.
        lazy: whether the models that it returns are lazy; None if some are.

    Returns:
        The result.
    """

    def run() -> Any:
        memcache.flush_all()
        fresh()
        ndb.delete_multi(ndb.Query().fetch(keys_only=True))
        store()
        memcache.flush_all()
        fresh()
        with fixed_now():
            result = outcome(scenario)
        if isinstance(result, list) and lazy is not None and lazyentity.patched():
            expected = lazy and not inside_eager
            assert {is_lazy(each) for each in result if isinstance(each, ndb.Model)} <= {expected}
        seen = outcome(lambda: snapshot(result)) if not hasattr(result, "kind") else result
        in_memcache = snapshot(cached())
        fresh()
        stored = [ndb.Query().order(ndb.Model.key).fetch()]
        return seen, in_memcache, snapshot(stored)

    inside_eager = False
    stock = run()
    with lazily():
        assert run() == stock
        inside_eager = True
        with lazyentity.eager():
            assert run() == stock
    return stock[0]


def _read_change_put() -> Any:
    found = ndb.get_multi(KEYS()[:2])
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
    first = ndb.get_multi(KEYS())
    fresh()
    second = ndb.get_multi(KEYS())
    return [*first, *second]


def _untouched() -> Any:
    return [*ndb.put_multi([each for each in ndb.get_multi(KEYS()) if each is not None])]


@ndb.tasklet
def _names() -> Any:
    people = yield Person.query().fetch_async()
    names = yield [_name(person.key) for person in people]
    raise ndb.Return(sorted(names))


@ndb.tasklet
def _name(key: Any) -> Any:
    person = yield key.get_async()
    raise ndb.Return(person.name)


def _pages() -> Any:
    found, cursor, more = Person.query().fetch_page(1)
    others, _, _ = Person.query().fetch_page(1, start_cursor=cursor)
    return [*found, *others, more]


SCENARIOS: dict[str, Scenario] = {
    "get": lambda: [ndb.Key("Everything", 5).get()],
    "get_multi": lambda: ndb.get_multi(KEYS()),
    "get_multi without memcache": lambda: ndb.get_multi(KEYS(), use_memcache=False),
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
    "tasklets": lambda: _names().get_result(),
    "put": _read_change_put,
    "put untouched": _untouched,
    "transaction": _in_transaction,
}


MADE_BY_NDB = ("get_or_insert", "pages", "query of all")
"""Scenarios in whose results some of the models are."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios(name: str) -> None:
    """Results, what memcache gets and what is stored are the same."""
    both(SCENARIOS[name], lazy=None if name in MADE_BY_NDB else True)


def test_projections_are_made_by_ndb() -> None:
    both(lambda: Person.query().fetch(projection=[Person.name]), lazy=False)


def test_a_miss_reads_nothing() -> None:
    """The entity goes to memcache, and back, without a value being made."""
    store()
    memcache.flush_all()
    with lazily():
        for _ in ("from Datastore", "from memcache"):
            fresh()
            found = Cat.get_by_id(1)
            assert list(found._values) == found._values._undecoded()


def test_memcache_gets_no_deleted_value() -> None:
    """A class that deletes a value when the model is made has it nowhere."""

    class Forgetful(ndb.Model):
        kept = ndb.StringProperty()
        secret = ndb.StringProperty()

        @classmethod
        def _from_pb(cls, *args: Any, **kwargs: Any) -> Any:
            made = super()._from_pb(*args, **kwargs)
            del made.secret
            return made

    key = Forgetful(id=1, kept="k", secret="s").put()  # noqa: S106  # no password

    def read() -> Any:
        memcache.flush_all()
        fresh()
        found = key.get()
        return snapshot(found), memcache.get(context.Context._memcache_prefix + key.urlsafe())

    stock = read()
    with lazily():
        assert read() == stock


def test_put_reads_nothing() -> None:
    """Nor does ndb's text of the call, which would show the whole model."""
    store()
    fresh()
    with lazily():
        found = Anything.get_by_id(1)
        found.known = 5
        found.put()
        assert b"other" in found._values._undecoded()


def test_corrupt_memcache() -> None:
    """Anything else in memcache than an entity is as bad as it is to stock ndb."""
    store()

    def read() -> Any:
        fresh()
        key = ndb.Key("Person", 1)
        memcache.set(context.Context._memcache_prefix + key.urlsafe(), b"\xff\xff")
        return snapshot(key.get())

    stock = read()
    with lazily():
        assert read() == stock


def test_threads_read_one_model() -> None:
    store()
    fresh()
    with lazily():
        found = ndb.Key("Everything", 5).get(use_cache=False, use_memcache=False)
        expected = snapshot(ndb.Key("Everything", 5).get(use_cache=False, use_memcache=False))
        assert together(4, lambda number: snapshot(found)) == [expected] * 4


class _Texts(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def test_texts_for_debugging() -> None:
    """Futures and failed tasklets are described as by stock ndb."""

    @ndb.tasklet
    def fail() -> Any:
        yield ndb.Key("Person", 1).get_async()
        raise ValueError("failed")

    def described() -> Any:
        fresh()
        handler = _Texts()
        logging.getLogger().addHandler(handler)
        try:
            pending = ndb.Key("Person", 1).get_async()
            batched = tasklets.get_context()._memcache_get_batcher.add("key", (False, "", None))
            # The innermost functions are not ndb's.
            texts = [text.partition(" for ")[2] for text in (repr(pending), repr(batched))]
            dumped = [future.dump().splitlines()[2:] for future in (pending, batched)]
            outcome(fail().get_result)
            return texts, dumped, handler.texts
        finally:
            logging.getLogger().removeHandler(handler)

    assert utils.DEBUG
    store()
    seen = []
    for entered in (nullcontext(), lazily()):
        with entered:
            seen.append(described())
    stock, lazy = seen
    assert lazy == stock
