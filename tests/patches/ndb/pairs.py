"""A model as ndb makes it and a model as the patch makes it, of the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model
from hypothesis.stateful import rule

import lazyentity
from lazyentity import LazyEntity
from lazyentity.patches.ndb import reads
from lazyentity.patches.ndb.seams import CLIENT as PATCHED_CLIENT
from tests.patches.models.machine import ModelTwins
from tests.patches.models.pairs import ModelPair, applied, stopped_clocks
from tests.patches.ndb.clients import make_client
from tests.patches.ndb.model_snapshots import order_blobs, snapshot
from tests.support.snapshots import Raised, geo_points_without_address, outcome
from tests.support.stock import comparable, in_order_of, learn_names, stock_entity

CLIENT = make_client("127.0.0.1:1", project="p")
"""A client of a server that there is not."""


def patched() -> AbstractContextManager[None]:
    """Have ndb patched; around this, nothing is."""
    return applied(PATCHED_CLIENT.patch)


def stock_model(raw: bytes) -> Any:
    """Make a model with nothing patched, whose properties have the order of the bytes.

    The stock client leaves that order to chance, and where two properties of an entity make one of
    a model, it counts.
    """
    assert not PATCHED_CLIENT.patch.active
    entity = in_order_of(LazyEntity.from_bytes(raw), stock_entity(raw))
    return model._entity_from_ds_entity(entity)


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


def eager_model(raw: bytes) -> Any:
    """As :func:`lazy_model`, in eager mode."""
    with lazyentity.eager():
        return lazy_model(raw)


def stored(entity: Any) -> bytes:
    """Serialise a model as ``put`` does, in the order of a dict."""
    entity._prepare_for_put()
    serialised: bytes = model._entity_to_protobuf(entity)._pb.SerializeToString()
    return serialised


def written(entity: Any) -> bytes:
    """As :func:`stored`, comparably."""
    entity._prepare_for_put()
    message = model._entity_to_protobuf(entity)._pb
    order_blobs(message)
    return comparable(message)


def seen(call: Callable[[], Any]) -> Any:
    """Return the result of ``call``, as :func:`snapshot`, or its error.

    In texts, the class of a lazy entity becomes the stock one.
    """
    with geo_points_without_address():
        return _seen(call)


def _seen(call: Callable[[], Any]) -> Any:
    return without_class(outcome(lambda: snapshot(call())))


def without_class(result: Any) -> Any:
    """Return the outcome of a call; if it raised, with the name of the stock entity in the text."""
    if not isinstance(result, Raised):
        return result
    text = result.text.replace(
        "lazyentity.entity.LazyEntity", "google.cloud.datastore.entity.Entity"
    )
    return Raised(result.kind, text.replace("'LazyEntity'", "'Entity'"))


class Pair(ModelPair):
    """A model of each side, to which the same is done."""

    patched = staticmethod(patched)
    stock_model = staticmethod(stock_model)
    lazy_model = staticmethod(lazy_model)
    written = staticmethod(written)
    seen = staticmethod(seen)
    comparable = staticmethod(without_class)

    @classmethod
    def seen_in_thread(cls, call: Callable[[], Any]) -> Any:
        """As :meth:`seen`, where the test has changed the repr of points."""
        with CLIENT.context():
            return _seen(call)


class Twins(ModelTwins):
    """Models of ndb to which the same is done, in the context of a test."""

    ndb = ndb
    kind = Pair

    def __init__(self) -> None:
        super().__init__(nullcontext())

    @staticmethod
    def type_of(value: Any) -> Any:
        """Return the type that stock's value has."""
        return Entity if isinstance(value, Entity) else type(value)

    @rule()
    def convert(self) -> None:
        self.pair.both(model._entity_to_ds_entity)


def fixed_now() -> AbstractContextManager[Any]:
    """Stop the clock of the properties that are set when a model is written."""
    return stopped_clocks(model, "_now")


@contextmanager
def context(*, legacy_data: bool) -> Iterator[None]:
    """Enter a context, which most of ndb needs; the clock of written properties stands still."""
    with CLIENT.context(legacy_data=legacy_data), fixed_now(), geo_points_without_address():
        yield


LEGACY = [pytest.param(False, id="modern"), pytest.param(True, id="legacy")]
"""The ways that a context has models written, for :func:`context`."""
