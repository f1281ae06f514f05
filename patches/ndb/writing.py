"""Models are written: properties that were never read stay as they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.ndb import key as key_module, model
from google.cloud.ndb.exceptions import BadValueError

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.entity import LazyEntity
from lazyentity.patches.inheritance import inherits
from lazyentity.patches.ndb.mappings import is_written_unchanged
from lazyentity.patches.ndb.models import LazyValues
from lazyentity.patches.ndb.seams import CLIENT

_CLASSES = tuple(
    kind
    for kind in vars(model).values()
    if isinstance(kind, type) and issubclass(kind, model.Property)
)
"""ndb's classes of properties."""

_found = dict.get


def _are_written_by_ndb(properties: list[Any]) -> bool:
    return all(inherits(prop, ("_to_datastore",), *_CLASSES) for prop in properties)


def entity_to_ds_entity(original: Callable[..., Any], entity: Any, set_key: bool = True) -> Any:
    """Make the entity of a model; properties that were never read stay as they came.

    Args:
        original: ndb's own ``_entity_to_ds_entity``.
        entity: a model.
        set_key: whether the entity gets the key of the model.

    Raises:
        As ``original``.
        google.protobuf.message.DecodeError, ValueError: if a property cannot be decoded.
    """
    values = entity._values
    if type(values) is not LazyValues or not CLIENT.is_intact():
        return original(entity, set_key)
    properties = list(model._properties_of(entity))
    if not _are_written_by_ndb(properties):
        # Such a method sees the other written values, and may change them.
        return original(entity, set_key)
    source = values._entity
    known = values._mapping.properties
    # Each is looked up by its name: another thread can give the model a value meanwhile.
    unread = {
        prop._name: prop
        for prop in properties
        if _found(values, prop._name) is UNDECODED
        # The bytes of a property that was changed in the entity itself are out of date.
        and _found(source, prop._name) is UNDECODED
        # An unknown property is dynamic, and its value does not depend on its property.
        and known.get(prop._name, prop) is prop
        and is_written_unchanged(prop)
    }
    excluded = source._wire_excluded(unread)
    unchanged = {
        name: prop for name, prop in unread.items() if (name in excluded) is not bool(prop._indexed)
    }
    if not unchanged:
        return original(entity, set_key)
    # From here on as ndb's _entity_to_ds_entity().
    data: dict[str, Any] = {"_exclude_from_indexes": []}
    uninitialized = []
    kept: set[Any] = set()
    for prop in model._properties_of(entity):
        name = prop._name
        # Writing another property may have read it, or given it a value.
        if unchanged.get(name) is prop and _found(values, name) is UNDECODED:
            kept.add(name)
            continue
        if not prop._is_initialized(entity):
            uninitialized.append(name)
        prop._to_datastore(entity, data)
    if uninitialized:
        raise BadValueError(f"Entity has uninitialized properties: {', '.join(uninitialized)}")
    new_exclusions = data.pop("_exclude_from_indexes")
    new_meanings = data.pop("_meanings", None)
    made: Any = LazyEntity._from_raw(source._raw)
    for name in made.keys() - kept:
        del made[name]
    made.exclude_from_indexes = (kept & excluded).union(new_exclusions)
    made._meanings = {} if new_meanings is None else new_meanings
    made.key = None
    if set_key:
        key = entity._key
        made.key = (key_module.Key(entity._get_kind(), None) if key is None else key)._key
    made.update(data)
    return made
