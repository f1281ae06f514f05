"""A model as the stock client makes it and a model as the patch makes it, of the same bytes."""

from __future__ import annotations

import abc
import copy
import datetime
import operator
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self
from unittest import mock

from hypothesis import HealthCheck, assume, settings

# A name of the sentinel here would count as an undecoded property in a census.
from lazyentity.codec import undecoded as codec_undecoded
from lazyentity.storage.lazyvaluedict import LazyValueDict
from tests.support.snapshots import Raised, outcome

# The same method is a test of each library. Nothing is replayed: that needs random examples.
_INHERITED: dict[str, Any] = {
    "derandomize": True,
    "suppress_health_check": [HealthCheck.differing_executors],
}

FEWER = settings(max_examples=settings().max_examples // 2, **_INHERITED)
"""For tests that run in two ways: half of the examples for each."""

FEW = settings(max_examples=settings().max_examples // 5, **_INHERITED)
"""For tests that run in many ways, and for slow ones."""


_checked: set[int] = set()
"""The patches that were applied here."""


@contextmanager
def applied(patch: Any) -> Iterator[None]:
    """Have one patch of a client applied; around this, it is not.

    Each example applies it several times: whether all names are there is looked up once.
    """
    assert not patch.active
    if id(patch) in _checked:
        patch.check = lambda: None
    try:
        patch.apply()
    finally:
        # Other tests take names away from clients.
        vars(patch).pop("check", None)
    _checked.add(id(patch))
    try:
        yield
    finally:
        patch.revert()


@contextmanager
def stopped_clocks(library: Any, method: str) -> Iterator[None]:
    """Stop the clocks of the properties of dates and times.

    Args:
        library: a module that defines them.
        method: their method that returns the time.
    """
    now = datetime.datetime(2021, 2, 3, 4, 5, 6)
    with ExitStack() as stopped:
        for name, at in (("DateTime", now), ("Date", now.date()), ("Time", now.time())):
            kind = getattr(library, f"{name}Property")
            clock = staticmethod(lambda at=at: at)
            stopped.enter_context(mock.patch.object(kind, method, clock))
        yield


def is_lazy(entity: Any) -> bool:
    """Say whether the values of a model are made when they are read."""
    return isinstance(entity._values, LazyValueDict)


def undecoded(entity: Any) -> set[Any]:
    """Return the names of the values of a model that are not decoded."""
    values = entity._values
    return {name for name in values if dict.get(values, name) is codec_undecoded.UNDECODED}


class ModelPair(abc.ABC):
    """A model of each side, to which the same is done; each subclass is for a single client."""

    def __init__(self, stock: Any, lazy: Any) -> None:
        self.stock = stock
        self.lazy = lazy

    @staticmethod
    @abc.abstractmethod
    def patched() -> AbstractContextManager[None]:
        """Have the client patched; around this, it is not."""

    @staticmethod
    @abc.abstractmethod
    def stock_model(raw: bytes, /) -> Any:
        """Make a model of a serialised entity with nothing patched."""

    @staticmethod
    @abc.abstractmethod
    def lazy_model(raw: bytes, /) -> Any:
        """Make a model under the patch."""

    @staticmethod
    @abc.abstractmethod
    def written(entity: Any, /) -> Any:
        """Return the message that ``put`` sends, comparably."""

    @staticmethod
    @abc.abstractmethod
    def seen(call: Callable[[], Any]) -> Any:
        """Return the result of a call in a form that can be compared, or ``Raised``."""

    @classmethod
    def seen_in_thread(cls, call: Callable[[], Any]) -> Any:
        """As :meth:`seen`, for a thread that is not that of the test."""
        return cls.seen(call)

    @staticmethod
    def comparable(raised: Any, /) -> Any:
        """Return the outcome of a call in the form that :meth:`seen` gives errors."""
        return raised

    @classmethod
    def from_raw(cls, raw: bytes) -> Self:
        """Make the two of an entity that the client can make a model of."""
        return cls(cls.stock_model(raw), cls.lazy_model(raw))

    @classmethod
    def assumed(cls, raw: bytes) -> Self:
        """Make the two; another example is tried if the stock client refuses to."""
        stock = outcome(cls.stock_model, raw)
        assume(not isinstance(stock, Raised))
        return cls(stock, cls.lazy_model(raw))

    def both(self, operation: Callable[[Any], Any]) -> Any:
        """Apply ``operation`` to both and compare its results or errors.

        Returns:
            The result of the patched side, as :meth:`seen`.
        """
        expected = self.seen(lambda: operation(self.stock))
        with self.patched():
            actual = self.seen(lambda: operation(self.lazy))
        assert actual == expected
        return actual

    def twins(self, operation: Callable[[Any], Any]) -> Self | None:
        """As :meth:`both`, for an operation that makes another model.

        Returns:
            The two that were made; None, if that failed.
        """
        stock = outcome(operation, self.stock)
        with self.patched():
            lazy = outcome(operation, self.lazy)
        if isinstance(stock, Raised) or isinstance(lazy, Raised):
            assert self.comparable(lazy) == self.comparable(stock)
            return None
        return type(self)(stock, lazy)

    def agree(self, *operations: Callable[[Any], Any]) -> None:
        """Apply operations to both, then assert that the models are the same, all through."""
        for operation in (*operations, lambda entity: entity):
            self.both(operation)


def reading(name: str) -> Callable[[Any], Any]:
    """Return a function that reads an attribute."""
    return operator.attrgetter(name)


def assigning(name: str, value: Any) -> Callable[[Any], None]:
    """Return a function that assigns a new copy to an attribute."""
    return lambda entity: setattr(entity, name, copy.deepcopy(value))


def deleting(name: str) -> Callable[[Any], None]:
    """Return a function that deletes an attribute."""
    return lambda entity: delattr(entity, name)


# App Engine's ndb counts in the last one while it makes a model, and leaves it there.
_DESCRIBED_APART = ("_values", "_properties", "_subentity_counter")


def model_form(entity: Any, snapshot: Callable[[Any], Any], described: Callable[[Any], Any]) -> Any:
    """Return a model in a form that is equal only to that of an indistinguishable model.

    Args:
        entity: the model.
        snapshot: gives that form of the values it has.
        described: gives that form of the properties of a model that has others than its class.
    """
    kind = type(entity)
    return {
        "type": kind,
        "properties": None if entity._properties is kind._properties else described(entity),
        "values": snapshot(entity._values),
        "attributes": {
            name: snapshot(value)
            for name, value in vars(entity).items()
            if name not in _DESCRIBED_APART
        },
    }
