"""Scenarios over the services in memory: everything that can be seen, stock and lazily."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from google.appengine.api import apiproxy_stub_map, memcache, namespace_manager
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
    everything,
)
from tests.patches.appengine.services import fresh, lazily
from tests.patches.models.pairs import is_lazy
from tests.support.snapshots import Raised, outcome

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


class Forgetful(ndb.Model):
    """A model that deletes a value when it is made: memcache must not get it either."""

    kept = ndb.StringProperty()
    secret = ndb.StringProperty()

    @classmethod
    def _from_pb(cls, *args: Any, **kwargs: Any) -> Any:
        made = super()._from_pb(*args, **kwargs)
        del made.secret
        return made


def keys() -> list[Any]:
    """Keys of several kinds, one twice, one in a namespace, and one of nothing."""
    one = ndb.Key("Person", 1)
    return [
        *(one, ndb.Key("Animal", 1), ndb.Key("Person", 404), one),
        *(ndb.Key("Person", 1, namespace="space"), ndb.Key("Hooked", 1)),
        *(ndb.Key("Person", 1, "Person", "two"), ndb.Key("Anything", 1), ndb.Key("Forgetful", 1)),
    ]


def store() -> None:
    """Store a few models."""
    home = Address(street="Home")
    ndb.put_multi(
        [
            everything(),
            Person(id=1, name="one", home=home, photo=b"photo"),
            Person(id="two", name="two", photo=b"photo", parent=ndb.Key("Person", 1)),
            Person(key=ndb.Key("Person", 1, namespace="space"), name="spaced"),
            Cat(id=1, legs=4, whiskers=5),
            Animal(id=2, legs=3),
            Anything(id=1, known=1, other="o", some=[1, 2]),
            # ndb makes this one: a structured property that no class defines.
            Anything(id=2, place=home),
            Hooked(id=1, name="hooked"),
            Forgetful(id=1, kept="k", secret="s"),  # noqa: S106  # no password
        ]
    )


def _told(service: str, call: str, request: Any) -> Any:
    """Describe a call; the order of keys is that of a set."""
    if (service, call) != ("memcache", "Set"):
        # Each transaction, and each query, has a new number.
        numbers = ("handle:", "cursor:")
        lines = [
            line for line in str(request).splitlines() if line.strip().split()[0] not in numbers
        ]
        return service, call, sorted(lines)
    items = []
    for item in request.item:
        entity = outcome(model.entity_pb2.EntityProto.FromString, item.value)
        value = item.value if isinstance(entity, Raised) else entity
        cas = item.for_cas, item.HasField("cas_id")
        items.append((item.key, str(value), item.set_policy, item.expiration_time, cas))
    return service, call, request.name_space, sorted(items)


@contextmanager
def recorded() -> Iterator[list[Any]]:
    """Give a list that gets the calls of services, with all that memcache gets."""
    calls: list[Any] = []
    hooks = apiproxy_stub_map.apiproxy.GetPreCallHooks()
    hooks.Append("record", lambda *args: calls.append(_told(*args[:3])))
    try:
        yield calls
    finally:
        hooks.Clear()


class _Texts(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextmanager
def logged() -> Iterator[list[str]]:
    """Give a list that gets the texts of warnings."""
    handler = _Texts()
    logging.getLogger().addHandler(handler)
    try:
        yield handler.texts
    finally:
        logging.getLogger().removeHandler(handler)


def _run(scenario: Scenario, lazy: bool | None) -> Any:
    fresh()
    namespace_manager.set_namespace("")
    ndb.delete_multi(ndb.Query(namespace="").fetch(keys_only=True), use_memcache=False)
    store()
    memcache.flush_all()
    fresh().number = 0
    Hooked.told.clear()
    try:
        with fixed_now(), recorded() as calls, logged() as texts:
            result = outcome(scenario)
            if lazy is not None and isinstance(result, list):
                models = [each for each in result if isinstance(each, ndb.Model)]
                # ndb makes models of entities with properties that their class lacks.
                models = [each for each in models if not isinstance(each, Anything)]
                assert {is_lazy(each) for each in models} <= {lazy}
            result = outcome(snapshot, result)
    finally:
        namespace_manager.set_namespace("")
    cached = tasklets.get_context()._cache
    # In the text of a generator, lines are numbered.
    texts = [text.partition(" raised ")[2] for text in texts]
    # Of several requests at a time, any may be answered first.
    seen = [sorted(each, key=repr) for each in (calls, texts, Hooked.told)]
    seen.append(snapshot(sorted(cached.values(), key=repr)))
    fresh()
    return result, *seen, snapshot(ndb.Query().order(ndb.Model.key).fetch())


def check(scenario: Scenario, *, lazy: bool | None = True) -> None:
    """Check that a scenario gives the same with stock ndb, lazily, and within eager().

    That is the result, the calls of services, the log, the functions of the application, the
    context's cache, and all that is stored afterwards.

    Args:
        scenario: called on the same contents each time, with an empty context.
        lazy: whether the models in the list that it returns are lazy; None if some are.
    """
    stock = _run(scenario, lazy=None if lazy is None else False)
    with lazily():
        assert _run(scenario, lazy) == stock
        with lazyentity.eager():
            assert _run(scenario, lazy=None if lazy is None else False) == stock
