"""Attributes of an entity as seen by tools that bypass attribute access."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity

import lazyentity
from lazyentity import LazyEntity
from tests.support.snapshots import Raised, outcome
from tests.support.stock import stock_entity
from tests.support.strategies.samples import PLAIN

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
    "state": lambda e, name: e.__getstate__() if sys.version_info >= (3, 11) else None,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE.keys())
@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER.keys())
def test_deleted_attributes_stay_deleted(
    lazy_type: type[LazyEntity],
    name: str,
    before: Callable[[Any, str], object],
    after: Callable[[Any, str], Any],
) -> None:
    """A deleted attribute is neither read from the bytes again nor written as it was received."""

    def steps(entity: Any) -> Any:
        before(entity, name)
        outcome(delattr, entity, name)
        result = outcome(after, entity, name)
        if isinstance(result, Raised):
            # The name of the class is in the text.
            result = result.kind
        setattr(entity, name, getattr(stock_entity(PLAIN), name))
        return result, getattr(entity, name)

    assert steps(lazy_type.from_bytes(PLAIN)) == steps(stock_entity(PLAIN))


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


@pytest.mark.skipif(sys.version_info < (3, 11), reason="object has no __getstate__")
def test_state(lazy_type: type[LazyEntity]) -> None:
    """As for stock: everything, though nothing was read before."""
    entity = lazy_type.from_bytes(PLAIN)
    assert entity.__getstate__() == stock_entity(PLAIN).__getstate__()
    # jsonpickle uses this to tell whether a class defines one.
    own: Any = lazy_type.__getstate__
    assert own is object.__getstate__
