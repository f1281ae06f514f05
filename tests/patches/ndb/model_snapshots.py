"""Models and messages of them as plain structures that compare strictly."""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model
from google.cloud.ndb._datastore_query import Cursor
from google.cloud.ndb.key import Key

from lazyentity.entity import LazyEntityBase
from lazyentity.patches.ndb.models import LazyValues
from tests.patches.models.pairs import model_form
from tests.support import snapshots
from tests.support.snapshots import Raised, outcome
from tests.support.stock import EntityMessage, comparable

_Model: Any = model.Model
_ENTITY_ATTRIBUTES = ("key", "exclude_from_indexes", "_meanings")


def models(value: Any) -> Iterator[Any]:
    """Give all models in ``value``, but not those inside models."""
    if isinstance(value, ndb.Model):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from models(part)


def storages(value: Any) -> set[str]:
    """Return the names of the classes of ``_values`` of all models in ``value``."""
    return {type(entity._values).__name__ for entity in models(value)}


def attempt(call: Callable[[], Any]) -> Any:
    """Return the snapshot of the result of ``call``, or the class of its error.

    Texts of servers have numbers of transactions and the like in them.
    """
    result = outcome(lambda: snapshot(call()))
    return result.kind if isinstance(result, Raised) else result


def snapshot(value: Any) -> Any:
    """Return ``value`` in a form that is equal only to that of an indistinguishable value.

    Lazy entities and lazy values give the form of stock entities and dicts: that is the one
    difference allowed. All of them is read.
    """
    kind: Any = type(value)
    if isinstance(value, _Model):
        form = model_form(
            value, snapshot, lambda model: {n: repr(p) for n, p in model._properties.items()}
        )
        if "_projection" in form["attributes"]:
            # ndb takes the names from the map of properties of a message, whose order changes with
            # the order on the wire where the process's hash puts two names into one bucket.
            form["attributes"]["_projection"] = type(value._projection), sorted(value._projection)
        return form
    if kind is model._BaseValue:
        base = value.b_val
        return kind, snapshot(in_order(base) if type(base) is bytes else base)
    if isinstance(value, Entity):
        return _entity(value)
    if isinstance(value, Raised):
        return value.kind
    if isinstance(value, Cursor):
        # Servers may give other bytes each time.
        return kind, bool(value.cursor)
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


def order_blobs(message: Any) -> None:
    """Put the entities in the blobs of an entity message into the order of their names.

    ndb serialises them in the order of a hash that each process seeds.
    """
    for value in message.properties.values():
        for item in value.array_value.values if value.HasField("array_value") else [value]:
            if item.HasField("entity_value"):
                order_blobs(item.entity_value)
            elif item.HasField("blob_value"):
                item.blob_value = in_order(item.blob_value)


def in_order(blob: bytes) -> bytes:
    """Return the entity in a blob, which may be compressed, in that order; other bytes as such."""
    raw = outcome(zlib.decompress, blob)
    inner: Any = outcome(EntityMessage.FromString, blob if isinstance(raw, Raised) else raw)
    if isinstance(inner, Raised) or not inner.properties:
        return blob
    order_blobs(inner)
    return comparable(inner)
