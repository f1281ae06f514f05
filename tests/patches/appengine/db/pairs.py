"""A model as db makes it and a model as the patch makes it, of the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import MethodType
from typing import Any

from google.appengine.api import datastore, datastore_types, users
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db

from lazyentity.patches.appengine.db.attributes import LazyAttributes
from lazyentity.patches.appengine.db.seams import PART
from lazyentity.patches.appengine.seams import CLIENT
from tests.patches.models.pairs import ModelPair, applied, stopped_clocks


@contextmanager
def patched() -> Iterator[None]:
    """Have the datastore API and db patched; around this, nothing is."""
    with applied(CLIENT.patch), applied(PART.patch):
        yield


def fixed_now() -> AbstractContextManager[None]:
    """Stop the clock of the properties that are set when a model is made or written."""
    return stopped_clocks(db, "now")


def stock_model(raw: bytes) -> Any:
    """Make a model with nothing patched."""
    assert not PART.patch.active
    return db.model_from_protobuf(entity_pb2.EntityProto.FromString(raw))


def lazy_model(raw: bytes) -> Any:
    """Make a model under the patch."""
    with patched():
        return db.model_from_protobuf(entity_pb2.EntityProto.FromString(raw))


def is_lazy(model: Any) -> bool:
    """Say whether the attributes of a model are made when they are read."""
    return type(model.__dict__) is LazyAttributes


def written(model: Any) -> bytes:
    """Serialise a model as ``put`` does."""
    entity = model._populate_internal_entity()
    raw: bytes = entity._ToPb().SerializeToString(deterministic=True)
    return raw


def snapshot(value: Any) -> Any:
    """Return ``value`` in a form that is equal only to that of an indistinguishable value."""
    kind = type(value)
    if isinstance(value, db.Model):
        return kind, _model(value)
    if isinstance(value, datastore.Entity):
        return datastore.Entity, _entity(value)
    if isinstance(value, datastore_types.Key):
        return kind, value.app(), value.namespace(), value.to_path() if value.kind() else None
    if isinstance(value, users.User):
        return kind, value.email(), value.auth_domain(), value.user_id()
    if kind is datastore_types.GeoPt:
        return kind, value.lat, value.lon
    if isinstance(value, MethodType):
        return kind, value.__name__
    if kind in (list, tuple):
        return kind, [snapshot(item) for item in value]
    if isinstance(value, dict):
        return dict, {name: snapshot(item) for name, item in value.items()}
    return kind, repr(value)


def _entity(entity: Any) -> Any:
    return (
        {name: snapshot(value) for name, value in entity.items()},
        snapshot(entity.key()),
        sorted(entity.unindexed_properties()),
        entity.is_projection(),
    )


def _model(model: Any) -> Any:
    names = [*model.properties(), *model.dynamic_properties()]
    return (
        {name: seen(lambda: getattr(model, name)) for name in names},  # noqa: B023
        snapshot(dict(vars(model))),
    )


def seen(call: Callable[[], Any]) -> Any:
    """Return the result of ``call`` as :func:`snapshot`, or the class of its error and its text."""
    try:
        return snapshot(call())
    except Exception as error:  # noqa: BLE001  # any error is compared
        return "raised", type(error), str(error)


def made_alike(raw: bytes, make: Callable[[bytes], Any] = db.model_from_protobuf) -> Any:
    """Check that the patch makes the model, or raises the error, of stock; return it as seen."""
    stock = seen(lambda: make(raw))
    with patched():
        assert seen(lambda: make(raw)) == stock
    return stock


def is_raised(result: Any) -> bool:
    """Say whether a result of :func:`seen` is an error."""
    return bool(result[0] == "raised")


class Pair(ModelPair):
    """The model that db makes of an entity, and the lazy one."""

    seen = staticmethod(seen)
    patched = staticmethod(patched)
    stock_model = staticmethod(stock_model)
    lazy_model = staticmethod(lazy_model)
    written = staticmethod(written)
