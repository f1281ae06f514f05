"""Attributes of an entity as seen by tools that bypass attribute access."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Hashable
from typing import Any, Protocol, runtime_checkable

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.entity import lazy_entity_type
from tests.entity.consumption import describe
from tests.support.concurrency import together
from tests.support.snapshots import Raised, outcome, snapshot, whole
from tests.support.stock import comparable, encoded, stock_entity
from tests.support.strategies.samples import PLAIN, RICH

NAMES = ("key", "exclude_from_indexes", "_meanings")


@runtime_checkable
class WithKey(Protocol):
    key: object


@runtime_checkable
class WithAll(Protocol):
    key: object
    exclude_from_indexes: object
    _meanings: object

    def items(self) -> object: ...


@runtime_checkable
class WithMore(Protocol):
    key: object
    more: object


def test_protocols_checked_at_run_time(lazy_type: type[LazyEntity]) -> None:
    """As for stock entities, without reading any attribute."""
    entity, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for protocol in (WithKey, WithAll, WithMore):
        assert isinstance(entity, protocol) == isinstance(stock, protocol)
    for name in NAMES:
        inspect.getattr_static(entity, name)
    assert hasattr(lazy_type, "key") == hasattr(Entity, "key")


BEFORE: dict[str, Callable[[Any, str], object]] = {
    "unread": lambda e, name: None,
    "read": getattr,
    "set": lambda e, name: setattr(e, name, getattr(e, name)),
    "all read": lambda e, name: vars(e),
    "read and deleted": lambda e, name: (getattr(e, name), e.__delattr__(name)),
}
AFTER: dict[str, Callable[[Any, str], Any]] = {
    "read": getattr,
    "deleted again": lambda e, name: outcome(e.__delattr__, name) is None,
    "hasattr": hasattr,
    "vars": lambda e, name: vars(e),
    "raw": lambda e, name: bool(lazyentity.raw(e)),
    "encoded": lambda e, name: bool(helpers.entity_to_protobuf(e)),
    "state": lambda e, name: e.__getstate__(),
}


def _after_each(
    make: Callable[[bytes], Any], steps: Callable[[Any, str, Callable[[Any, str], object]], Any]
) -> dict[tuple[str, str], Any]:
    """Take steps with each attribute of a new entity, after each use of it."""
    return {
        (name, used): steps(make(PLAIN), name, before)
        for name, (used, before) in itertools.product(NAMES, BEFORE.items())
    }


DELETED: dict[str, Callable[[Any, str], object]] = {
    "delattr": delattr,
    "pop": lambda e, name: vars(e).pop(name),
    "del": lambda e, name: vars(e).__delitem__(name),
    "clear": lambda e, name: vars(e).clear(),
    "popitem": lambda e, name: dict(vars(e).popitem() for _ in NAMES),
    "popped, read and popped": lambda e, name: (
        vars(e).pop(name),
        hasattr(e, name),
        outcome(vars(e).pop, name).kind,
    ),
}


@pytest.mark.parametrize("delete", DELETED.values(), ids=DELETED.keys())
@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER.keys())
def test_deleted_attributes_stay_deleted(
    lazy_type: type[LazyEntity],
    delete: Callable[[Any, str], object],
    after: Callable[[Any, str], Any],
) -> None:
    """A deleted attribute is neither read from the bytes again nor written as it was received.

    Nor is one that is taken out of vars(entity). It can be set again.
    """

    def steps(entity: Any, name: str, before: Callable[[Any, str], object]) -> Any:
        before(entity, name)
        deleted, result = outcome(delete, entity, name), outcome(after, entity, name)
        # The name of the class is in the text.
        deleted = describe(deleted) if isinstance(deleted, Raised) else deleted
        # Which attribute is missing first depends on the encoder.
        result = result.kind if isinstance(result, Raised) else result
        left = sorted(vars(entity)), [hasattr(entity, each) for each in NAMES]
        setattr(entity, name, getattr(stock_entity(PLAIN), name))
        return deleted, result, left, getattr(entity, name)

    assert _after_each(lazy_type.from_bytes, steps) == _after_each(stock_entity, steps)


def test_the_dictionary_leaves_the_fast_way(lazy_type: type[LazyEntity]) -> None:
    """Asking for the dictionary deletes nothing: the entity can be used as before."""
    entity, stock = lazy_type.from_bytes(RICH), stock_entity(RICH)
    vars(entity), vars(stock)
    assert whole(lazyentity.materialize(entity)) == whole(
        lazyentity.materialize(lazy_type.from_bytes(RICH))
    )
    assert snapshot(entity) == snapshot(stock)
    message = helpers.entity_to_protobuf(entity)._pb
    assert comparable(message) == encoded(stock)


@pytest.mark.usefixtures("frequent_switches")
def test_threads_that_ask_for_the_dictionary(lazy_type: type[LazyEntity]) -> None:
    """No thread finds an attribute missing while another one completes the dictionary."""

    def read(number: int) -> None:
        for entity in entities:
            if number % 2:
                vars(entity)
            else:
                assert entity.key is not None
                assert entity._meanings is not None

    for _ in range(20):
        entities = [lazy_type.from_bytes(PLAIN) for _ in range(20)]
        together(4, read)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_hash_of_the_application(
    lazy_type: type[LazyEntity], when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hash that the application gives to Entity is that of lazy entities, too."""

    def hash_of(entity: Entity) -> int:
        return hash(entity.key)

    entity: Any = lazy_type.from_bytes(PLAIN)
    stock: Any = stock_entity(PLAIN)
    for each in (entity, stock):
        assert not isinstance(each, Hashable)
        with pytest.raises(TypeError, match="unhashable type"):
            hash(each)
    kind = lazy_type
    if when == "before":
        monkeypatch.setattr(Entity, "__hash__", hash_of)
        kind = lazy_entity_type(lazy_type.__mro__[2])
    monkeypatch.setattr(Entity, "__hash__", hash_of)
    entity = kind.from_bytes(PLAIN)
    assert hash(entity) == hash(stock) == hash(stock.key)
    assert {stock: 1}[entity] == {entity: 1}[stock] == 1
    monkeypatch.undo()
    for each in (entity, stock):
        with pytest.raises(TypeError, match="unhashable type"):
            hash(each)


def test_an_entity_as_the_dictionary_of_an_object(lazy_type: type[LazyEntity]) -> None:
    """CPython reads the storage: attributes are the sentinel, which ``is None`` does not show."""

    class Thing:
        pass

    thing: Any = Thing()
    thing.__dict__ = lazy_type.from_bytes(PLAIN)
    assert stock_entity(PLAIN)["nothing"] is None
    assert thing.nothing is UNDECODED
    assert getattr(thing, "text", None) is UNDECODED
    with pytest.raises(TypeError, match="materialize"):
        str(thing.text)
    # What a program does instead.
    thing.__dict__ = lazyentity.materialize(lazy_type.from_bytes(PLAIN))
    assert [thing.nothing, thing.text] == [None, stock_entity(PLAIN)["text"]]
    thing, other = Thing(), Thing()
    vars(thing).update(lazy_type.from_bytes(PLAIN))
    vars(other).update(**lazy_type.from_bytes(PLAIN))
    assert vars(thing) == vars(other) == dict(stock_entity(PLAIN))


def _cleared(entity: Any) -> Any:
    del entity.__dict__
    return vars(entity)


REPLACED: dict[str, Callable[[Any], Any]] = {
    "some": lambda e: setattr(e, "__dict__", {"key": None, "more": 1}),
    "all": lambda e: setattr(e, "__dict__", dict(vars(stock_entity(PLAIN)))),
    "deleted": _cleared,
    "no dict": lambda e: setattr(e, "__dict__", 5),
}


@pytest.mark.parametrize("replace", REPLACED.values(), ids=REPLACED.keys())
def test_the_dictionary_is_replaced(
    lazy_type: type[LazyEntity], replace: Callable[[Any], Any]
) -> None:
    """By assigning __dict__, as jsonpickle does."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    assert outcome(replace, lazy) == outcome(replace, stock)
    assert vars(lazy) == vars(stock)
    for name in (*NAMES, "more"):
        assert hasattr(lazy, name) == hasattr(stock, name)
    given = {"key": stock_entity(PLAIN).key}
    lazy.__dict__ = given
    assert vars(lazy) is given


def test_state(lazy_type: type[LazyEntity]) -> None:
    """As for stock: everything, though nothing was read before."""
    entity = lazy_type.from_bytes(PLAIN)
    assert entity.__getstate__() == stock_entity(PLAIN).__getstate__()
    # jsonpickle uses this to tell whether a class defines one.
    own: Any = lazy_type.__getstate__
    assert own is object.__getstate__
