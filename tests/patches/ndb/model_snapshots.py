"""Models and their values as plain structures that compare strictly."""

from __future__ import annotations

import datetime
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model
from google.cloud.ndb.key import Key

from lazyentity.entity import LazyEntityBase
from lazyentity.patches.ndb.models import LazyValues
from tests.patches.models.snapshots import model_form
from tests.patches.ndb.blobs import in_order
from tests.support import snapshots

_Model: Any = model.Model
_ENTITY_ATTRIBUTES = ("key", "exclude_from_indexes", "_meanings")


def snapshot(value: Any) -> Any:
    """Return ``value`` in a form that is equal only to that of an indistinguishable value.

    Lazy entities and lazy values give the form of stock entities and dicts: that is the one
    difference allowed. All of them is read.
    """
    kind: Any = type(value)
    if isinstance(value, _Model):
        return model_form(value, snapshot, dynamic)
    if kind is model._BaseValue:
        base = value.b_val
        return kind, snapshot(in_order(base) if type(base) is bytes else base)
    if isinstance(value, Entity):
        return _entity(value)
    if isinstance(value, Key):
        return kind, snapshots.snapshot_key(value._key)
    if kind is model.User:
        return kind, vars(value)
    if kind in (list, tuple):
        return kind, [snapshot(item) for item in value]
    if kind in (dict, LazyValues):
        return dict, {name: snapshot(item) for name, item in value.items()}
    if kind in (datetime.date, datetime.time, model._CompressedValue, model.BlobKey, set):
        return kind, value
    return snapshots.snapshot(value)


def dynamic(entity: Any) -> Any:
    """Describe the properties of a model that has others than its class."""
    return {name: repr(prop) for name, prop in entity._properties.items()}


def _entity(entity: Entity) -> Any:
    kind = type(entity)
    return {
        "type": Entity if issubclass(kind, LazyEntityBase) else kind,
        "properties": {name: snapshot(value) for name, value in entity.items()},
        "key": snapshots.snapshot_key(entity.key),
        "excluded": (type(entity.exclude_from_indexes), sorted(entity.exclude_from_indexes)),
        "meanings": {
            name: (meaning, original is entity.get(name), snapshot(original))
            for name, (meaning, original) in entity._meanings.items()
        },
        "attributes": {
            name: snapshot(value)
            for name, value in vars(entity).items()
            if name not in _ENTITY_ATTRIBUTES
        },
    }
