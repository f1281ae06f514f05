"""Mappings: how the models of a class are made.

A mapping tells which attributes of a model are made when they are read, and which at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.appengine.ext import db
from google.appengine.ext.db import polymodel

from lazyentity.codec.cache import MAX_BYTES, BoundedCache, learned_bytes
from lazyentity.patches.appengine.db.seams import MAKING
from lazyentity.patches.inheritance import inherits

SET_BY_DB = {"_parent": None, "_parent_key": None, "_app": None}
"""The attributes of every saved model, besides its entity's attributes."""
_TAKEN = frozenset(
    (
        *SET_BY_DB,
        "_Model__namespace",
        "_dynamic_properties",
        "_entity",
        "_from_entity",
        "_key",
        "_key_name",
    )
)

# These setters refuse every value, and db then skips the property.
_DERIVED = (db.ComputedProperty, polymodel._ClassKeyProperty)


@dataclass(eq=False, frozen=True)
class DbModelMapping:
    """How the models of a class are made.

    Attributes:
        attributes: the properties that are made when they are read, by the names of the attributes
            that hold them.
        at_once: the properties whose own ``__set__`` runs when the model is made.
        timely: the ``attributes`` whose default depends on the time when the model is made.
        names: the stored names of all properties.
        by_name: the properties of ``attributes``, by stored name.
    """

    attributes: dict[str, Any]
    at_once: tuple[Any, ...]
    timely: tuple[Any, ...]
    names: frozenset[str]
    by_name: dict[str, Any]


NOTHING = DbModelMapping({}, (), (), frozenset(), {})
"""The mapping of a model that has all of its attributes."""

# By class. None in a mapping's place: db makes the models.
_MAPPINGS: BoundedCache[Any, tuple[DbModelMapping | None, Any, int]] = BoundedCache(MAX_BYTES)


def mapping_for(model_class: Any) -> DbModelMapping | None:
    """Return the mapping for models of a class; None, if db has to make them."""
    properties = model_class._properties
    known = _MAPPINGS.get(model_class)
    if known is not None and known[1] is properties and known[2] == len(properties):
        return known[0]
    mapping = _mapping(model_class)
    size = 0 if mapping is None else 4 * learned_bytes(None, mapping.attributes)
    _MAPPINGS.keep(model_class, (mapping, properties, len(properties)), size)
    return mapping


def _mapping(model_class: Any) -> DbModelMapping | None:
    properties = list(model_class._properties.values())
    names = frozenset(prop.name for prop in properties)
    if (
        not _is_made_by_db(model_class)
        or len(names) < len(properties)
        # db passes arguments of these names to the constructor.
        or not names.isdisjoint(("key", "key_name", "parent", "self"))
    ):
        return None
    attributes: dict[str, Any] = {}
    at_once = []
    for prop in properties:
        if inherits(type(prop), ("__set__",), *_DERIVED):
            continue
        if not inherits(prop, ("_attr_name",), db.Property):
            return None
        held = [prop._attr_name()]
        if isinstance(prop, db.ReferenceProperty):
            held.append(f"_RESOLVED{held[0]}")
        if not _TAKEN.isdisjoint(held):
            return None
        if not inherits(type(prop), ("__set__",), db.Property, db.ReferenceProperty) or any(
            hasattr(model_class, attribute) for attribute in held
        ):
            at_once.append(prop)
        else:
            attributes.update(dict.fromkeys(held, prop))
    lazy = {prop.name: prop for prop in attributes.values()}
    return DbModelMapping(
        attributes,
        tuple(at_once),
        tuple(
            prop
            for prop in lazy.values()
            if not inherits(type(prop), ("default_value",), db.Property, db.ListProperty)
        ),
        names,
        lazy,
    )


def _is_made_by_db(model_class: Any) -> bool:
    """Say whether db's own methods alone have a part in making models of a class."""
    return (
        type(model_class).__call__ is type.__call__
        # The two that the patch put there.
        and inherits(model_class, ("__getattr__",), db.Model, db.Expando)
        and not any(hasattr(model_class, name) for name in (*SET_BY_DB, "_entity"))
        and inherits(model_class, MAKING, db.Model, db.Expando, polymodel.PolyModel)
    )
