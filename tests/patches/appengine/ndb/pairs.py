"""A model as ndb makes it and a model as the patch makes it, of the same bytes."""

from __future__ import annotations

import copy
import datetime
import operator
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from google.appengine.datastore.entity_bytes_pb2 import EntityProto
from google.appengine.ext.ndb import model
from hypothesis import settings

from lazyentity.patches.appengine.ndb.seams import PART
from tests.patches.appengine.ndb.snapshots import snapshot
from tests.support.snapshots import Raised, outcome

FEWER = settings(max_examples=settings().max_examples // 2, derandomize=True)

_ADAPTER = model.ModelAdapter()


@contextmanager
def patched() -> Iterator[None]:
    """Have ndb patched; around this, nothing is."""
    assert not PART.patch.active
    PART.patch.apply()
    try:
        yield
    finally:
        PART.patch.revert()


def converted(raw: bytes) -> Any:
    """Make a model of a serialised entity as reads do."""
    entity = EntityProto()
    entity.MergeFromString(raw)
    return _ADAPTER.pb_to_entity(entity)


def stock_model(raw: bytes) -> Any:
    """Make a model with nothing patched."""
    assert not PART.patch.active
    return converted(raw)


def lazy_model(raw: bytes) -> Any:
    """Make a model under the patch, of names that came before."""
    with patched():
        for _ in range(2):
            outcome(converted, raw)
        return converted(raw)


def is_lazy(entity: Any) -> bool:
    """Say whether the values of a model are made when they are read."""
    return type(entity._values).__name__ == "LazyValues"


def written(entity: Any) -> Any:
    """Return the message that ``put`` sends, as text."""
    with fixed_now():
        entity._prepare_for_put()
    return str(entity._to_pb())


class Pair:
    """A model of each side, to which the same is done."""

    def __init__(self, stock: Any, lazy: Any) -> None:
        self.stock = stock
        self.lazy = lazy

    @classmethod
    def of(cls, raw: bytes) -> Pair:
        """Make the two of an entity that ndb can make a model of."""
        return cls(stock_model(raw), lazy_model(raw))

    def both(self, operation: Callable[[Any], Any]) -> Any:
        """Apply ``operation`` to both and compare its results or errors.

        Returns:
            The result of the patched side, as :func:`snapshot`, or ``Raised``.
        """
        expected = outcome(lambda: snapshot(operation(self.stock)))
        with patched():
            actual = outcome(lambda: snapshot(operation(self.lazy)))
        assert actual == expected
        return actual

    def twins(self, operation: Callable[[Any], Any]) -> Pair | None:
        """As :meth:`both`, for an operation that makes another model.

        Returns:
            The two that were made; None, if that failed.
        """
        stock = outcome(operation, self.stock)
        with patched():
            lazy = outcome(operation, self.lazy)
        if isinstance(stock, Raised):
            assert lazy == stock
            return None
        return Pair(stock, lazy)

    def agree(self) -> None:
        """Assert that the models are the same, all through."""
        self.both(lambda entity: entity)


@contextmanager
def fixed_now() -> Iterator[None]:
    """Stop the clock of the properties that are set when a model is written."""
    now = datetime.datetime(2020, 1, 2, 3, 4, 5)
    with ExitStack() as stopped:
        for kind, made in (
            (model.DateTimeProperty, now),
            (model.DateProperty, now.date()),
            (model.TimeProperty, now.time()),
        ):
            stopped.enter_context(mock.patch.object(kind, "_now", lambda _, made=made: made))
        yield


def reading(name: str) -> Callable[[Any], Any]:
    """Return a function that reads an attribute."""
    return operator.attrgetter(name)


def assigning(name: str, value: Any) -> Callable[[Any], None]:
    """Return a function that assigns a new copy to an attribute."""
    return lambda entity: setattr(entity, name, copy.deepcopy(value))


def deleting(name: str) -> Callable[[Any], None]:
    """Return a function that deletes an attribute."""
    return lambda entity: delattr(entity, name)
