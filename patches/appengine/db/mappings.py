"""Mappings: how the models of a class are made.

A mapping tells which attributes of a model are made when they are read, and which at once.
"""

from __future__ import annotations

import functools
import inspect
import operator
from dataclasses import dataclass
from typing import Any

from google.appengine.ext import db
from google.appengine.ext.db import polymodel

from lazyentity.codec.cache import BoundedCache
from lazyentity.codec.limits import MAX_BYTES, learned_bytes
from lazyentity.patches.appengine.db.upstream import upstream_function, upstream_functions
from lazyentity.patches.upstream import is_upstream

_plain_sets = upstream_functions("__set__", db.Property, db.ReferenceProperty)
_attr_name = upstream_function(db.Property, "_attr_name")
# These setters refuse every value, and db then skips the property.
_derived_sets = upstream_functions("__set__", db.ComputedProperty, polymodel._ClassKeyProperty)
_timeless_defaults = upstream_functions("default_value", db.Property, db.ListProperty)

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

# The methods that make a model, besides from_entity().
_METHODS = (
    "__getattribute__",
    "__init__",
    "__new__",
    "__setattr__",
    "_load_entity_values",
    "properties",
)
_methods_of = operator.attrgetter("__getattr__", *_METHODS)
# Their methods call Model's methods.
_CALLING_MODEL = (db.Expando, polymodel.PolyModel)
_own_methods = tuple(
    upstream_functions(name, db.Model, db.Expando, polymodel.PolyModel) for name in _METHODS
)


@dataclass(eq=False, frozen=True)
class ModelMapping:
    """How the models of a class are made.

    Attributes:
        attributes: the properties that are made when they are read, by the names of the attributes
            that hold them.
        at_once: the properties whose own ``__set__`` runs when the model is made.
        timely: the ``attributes`` whose default depends on the time when the model is made.
        names: the stored names of all properties.
        by_name: the properties of ``attributes``, by stored name.
        is_expando: whether there may be other properties.
    """

    attributes: dict[str, Any]
    at_once: tuple[Any, ...]
    timely: tuple[Any, ...]
    names: frozenset[str]
    by_name: dict[str, Any]
    is_expando: bool


NOTHING = ModelMapping({}, (), (), frozenset(), {}, False)
"""The mapping of a model that has all of its attributes."""

# By class. None in a mapping's place: db makes the models.
_MAPPINGS: BoundedCache[Any, tuple[ModelMapping | None, tuple[Any, ...]]] = BoundedCache(MAX_BYTES)


def mapping_for(model_class: Any) -> ModelMapping | None:
    """Return the mapping for models of a class as it is now; None, if db has to make them."""
    state = _state(model_class)
    known = _MAPPINGS.get(model_class)
    if known is not None and known[1] == state:
        return known[0]
    mapping = _mapping(model_class)
    size = 0 if mapping is None else 4 * learned_bytes(None, mapping.attributes)
    _MAPPINGS.keep(model_class, (mapping, state), size)
    return mapping


def _state(model_class: Any) -> tuple[Any, ...]:
    """Return the state that a mapping depends on; if the class changes, the states are unequal."""
    methods = _methods_of(model_class)
    if issubclass(model_class, _CALLING_MODEL):
        methods += _methods_of(db.Model)
    return (
        methods,
        # A wrapper of wrapt equals the wrapped method.
        tuple(map(type, methods)),
        tuple(model_class._properties.values()),
        # An added attribute may have the name of a property's attribute.
        sum([len(vars(base)) for base in model_class.__mro__]),
    )


def _mapping(model_class: Any) -> ModelMapping | None:
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
        setter = inspect.getattr_static(type(prop), "__set__")
        if is_upstream(setter, *_derived_sets):
            continue
        attr_name = inspect.getattr_static(type(prop), "_attr_name")
        if not is_upstream(attr_name, _attr_name) or "_attr_name" in vars(prop):
            return None
        held = [prop._attr_name()]
        if isinstance(prop, db.ReferenceProperty):
            held.append(f"_RESOLVED{held[0]}")
        if not _TAKEN.isdisjoint(held):
            return None
        if not is_upstream(setter, *_plain_sets) or any(
            hasattr(model_class, attribute) for attribute in held
        ):
            at_once.append(prop)
        else:
            attributes.update(dict.fromkeys(held, prop))
    lazy = {prop.name: prop for prop in attributes.values()}
    return ModelMapping(
        attributes,
        tuple(at_once),
        tuple(prop for prop in lazy.values() if not _is_timeless(prop)),
        names,
        lazy,
        issubclass(model_class, db.Expando),
    )


def _is_timeless(prop: Any) -> bool:
    return is_upstream(inspect.getattr_static(type(prop), "default_value"), *_timeless_defaults)


def _is_made_by_db(model_class: Any) -> bool:
    """Say whether db's own methods alone have a part in making models of a class."""
    return (
        type(model_class).__call__ is type.__call__
        # The two that the patch put there.
        and model_class.__getattr__ in (db.Model.__getattr__, db.Expando.__getattr__)
        and not any(hasattr(model_class, name) for name in (*SET_BY_DB, "_entity"))
        and all(
            is_upstream(inspect.getattr_static(made_by, name), *functions)
            for made_by in (model_class, db.Model)
            for name, functions in zip(_METHODS, _own_methods, strict=True)
        )
    )


@functools.lru_cache(maxsize=4096)
def is_dynamic(model_class: Any, name: str, _mapping: ModelMapping) -> bool:
    """Say whether an ``Expando`` keeps a property that its class does not define.

    db refuses some names, and sets attributes of some others.

    Args:
        model_class: a subclass of ``db.Expando``.
        name: the name of the property.
        _mapping: the mapping of the class; a changed class has another, and so another answer.
    """
    try:
        db.check_reserved_word(name)
    except db.ReservedWordError:
        return False
    return (
        not name.startswith("_")
        and name != "self"
        and not hasattr(getattr(model_class, name, None), "__set__")
    )
