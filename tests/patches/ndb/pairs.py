"""A model as ndb makes it and a model as the patch makes it, of the same bytes."""

from __future__ import annotations

import copy
import datetime
import operator
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model
from hypothesis import settings

from lazyentity import LazyEntity
from lazyentity.patches.ndb import reads
from lazyentity.patches.ndb.seams import CLIENT as PATCHED_CLIENT
from tests.patches.ndb.model_snapshots import snapshot
from tests.support.snapshots import Raised, geo_points_without_address, outcome
from tests.support.stock import comparable, in_order_of, learn_names, stock_entity

PROJECT = "p"


def offline_client() -> ndb.Client:
    """Make a client that nothing listens to."""
    with mock.patch.dict(os.environ, {"DATASTORE_EMULATOR_HOST": "127.0.0.1:1"}):
        return ndb.Client(project=PROJECT, credentials=AnonymousCredentials())


CLIENT = offline_client()


@contextmanager
def patched() -> Iterator[None]:
    """Have ndb patched; around this, nothing is."""
    assert not PATCHED_CLIENT.patch.active
    PATCHED_CLIENT.patch.apply()
    try:
        yield
    finally:
        PATCHED_CLIENT.patch.revert()


def ordered_entity(raw: bytes) -> Entity:
    """As ``stock_entity``, with the properties in the order of the bytes.

    The stock client leaves it to chance, and where two properties of an entity make one of a
    model, it counts.
    """
    return in_order_of(LazyEntity.from_bytes(raw), stock_entity(raw))


def stock_model(raw: bytes) -> Any:
    """Make a model with nothing patched."""
    assert not PATCHED_CLIENT.patch.active
    return model._entity_from_ds_entity(ordered_entity(raw))


def received(raw: bytes) -> Any:
    """Return the proxy of the entity ``raw`` in a response or in the cache."""
    handle = reads._new_cached_entity()
    handle._pb.MergeFromString(raw)
    return handle


def lazy_model(raw: bytes) -> Any:
    """Make a model under the patch, of names that come once, again, or are known."""
    learn_names(LazyEntity, raw)
    with patched():
        return model._entity_from_protobuf(received(raw))


def stored(entity: Any) -> bytes:
    """Serialise a model as ``put`` does, in the order of a dict."""
    entity._prepare_for_put()
    serialised: bytes = model._entity_to_protobuf(entity)._pb.SerializeToString()
    return serialised


def written(entity: Any) -> bytes:
    """As :func:`stored`, comparably."""
    entity._prepare_for_put()
    return comparable(model._entity_to_protobuf(entity)._pb)


def is_lazy(entity: Any) -> bool:
    """Say whether the values of a model are made when they are read."""
    return type(entity._values).__name__ == "LazyValues"


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
        expected = seen(lambda: operation(self.stock))
        with patched():
            actual = seen(lambda: operation(self.lazy))
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
            assert without_class(lazy) == without_class(stock)
            return None
        return Pair(stock, lazy)

    def agree(self) -> None:
        """Assert that the models are the same, all through."""
        self.both(lambda entity: entity)


def seen(call: Callable[[], Any]) -> Any:
    """Return the result of ``call``, as :func:`snapshot`, or its error.

    In texts, the class of a lazy entity becomes the stock one.
    """
    with geo_points_without_address():
        result = outcome(lambda: snapshot(call()))
    return without_class(result)


def without_class(result: Any) -> Any:
    """Return the outcome of a call; if it raised, with the name of the stock entity in the text."""
    if not isinstance(result, Raised):
        return result
    text = result.text.replace(
        "lazyentity.entity.LazyEntity", "google.cloud.datastore.entity.Entity"
    )
    return Raised(result.kind, text.replace("'LazyEntity'", "'Entity'"))


def fixed_now() -> AbstractContextManager[Any]:
    """Stop the clock of the properties that are set when a model is written."""
    return mock.patch.object(
        model.DateTimeProperty, "_now", staticmethod(lambda: datetime.datetime(2020, 1, 2, 3, 4, 5))
    )


@contextmanager
def context(*, legacy_data: bool) -> Iterator[None]:
    """Enter a context, which most of ndb needs; the clock of written properties stands still."""
    with CLIENT.context(legacy_data=legacy_data), fixed_now(), geo_points_without_address():
        yield


FEWER = settings(max_examples=settings().max_examples // 2, derandomize=True)
"""For tests that run in two ways: half of the examples for each."""

LEGACY = [pytest.param(False, id="modern"), pytest.param(True, id="legacy")]
"""The ways that a context has models written, for :func:`context`."""


def reading(name: str) -> Callable[[Any], Any]:
    """Return a function that reads an attribute."""
    return operator.attrgetter(name)


def assigning(name: str, value: Any) -> Callable[[Any], None]:
    """Return a function that assigns a new copy to an attribute."""
    return lambda entity: setattr(entity, name, copy.deepcopy(value))


def deleting(name: str) -> Callable[[Any], None]:
    """Return a function that deletes an attribute."""
    return lambda entity: delattr(entity, name)
