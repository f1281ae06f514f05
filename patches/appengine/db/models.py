"""Models of ext.db whose attributes are made of the entity when they are read.

A model keeps the value of each property in its own attribute. A model that is made of a lazy
entity gets a :class:`LazyAttributes` as its ``__dict__``. All that the model and its properties do
with the values is db's own.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from google.appengine.ext import db
from google.appengine.ext.db import polymodel

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.db.attributes import (
    ABSENT,
    LazyAttributes,
    value_for,
)
from lazyentity.patches.appengine.db.mappings import (
    SET_BY_DB,
    DbModelMapping,
    mapping_for,
)
from lazyentity.patches.appengine.db.seams import PART
from lazyentity.patches.appengine.entities import LazyEntity
from lazyentity.patches.appengine.guarding import is_intact
from lazyentity.patches.inheritance import inherits

_fill: Any = dict.update
_found = dict.get
_new = object.__new__
_new_attributes: Any = dict.__new__
_set = object.__setattr__


def from_entity(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the class method ``Model.from_entity``, which makes a model of an entity."""
    make = original.__func__

    @functools.wraps(make)
    def from_entity(cls: Any, entity: Any) -> Any:
        model = None
        # A class's own from_entity() has to get what db makes.
        if (
            type(entity) is LazyEntity
            and is_active()
            and is_intact(PART)
            and inherits(cls, ("from_entity",), db.Model, db.Expando, polymodel.PolyModel)
        ):
            model = _lazy_model(cls, entity)
        return make(cls, entity) if model is None else model

    return classmethod(from_entity)


def _lazy_model(model_class: Any, entity: Any) -> Any:
    """Return a lazy model; None, if db has to make it."""
    mapping = mapping_for(model_class)
    if (
        mapping is None
        or not entity.is_saved()
        or entity.kind() != model_class.kind()
        or entity.keys() != entity._index.shape.ordinals.keys()
    ):
        return None
    is_expando = issubclass(model_class, db.Expando)
    if is_expando and not mapping.names.issuperset(entity.keys()):
        # db makes the models with dynamic properties.
        return None
    attributes = _new_attributes(LazyAttributes)
    attributes._is_projection = None
    attributes._mapping = mapping
    attributes._source = entity
    _fill(attributes, SET_BY_DB, _entity=entity, _Model__namespace=entity.namespace())
    if is_expando:
        # As the constructor does, which would take this argument for a property.
        _fill(attributes, _from_entity=entity, _dynamic_properties={})
    model = _new(model_class)
    _set(model, "__dict__", attributes)
    _load_at_once(model, attributes, mapping, entity)
    return model


def _load_at_once(model: Any, attributes: Any, mapping: DbModelMapping, entity: Any) -> None:
    """Load what cannot wait."""
    if not entity._is_untouched():
        for name, prop in mapping.by_name.items():
            if _found(entity, name, UNDECODED) is not UNDECODED:
                # It may be assigned to the entity, or be assigned again.
                attributes.keep(prop, entity[name])
    for prop in mapping.timely:
        if prop.name not in entity:
            attributes.make(prop)
    for prop in mapping.at_once:
        is_projection = attributes.is_projection()
        value = _found(entity, prop.name, ABSENT)
        if value is ABSENT and is_projection:
            continue
        if value is UNDECODED:
            value = entity[prop.name]
        with contextlib.suppress(db.DerivedPropertyError):
            prop.__set__(model, value_for(prop, value, is_projection))
