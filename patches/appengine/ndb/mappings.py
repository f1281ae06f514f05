"""Mappings: how models of a class are made of entities with the same names.

A mapping tells of which entries of an entity each property of a model is made, and of which
properties ndb's own methods alone read the value; these may be bypassed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from google.appengine.ext.ndb import model, polymodel

from lazyentity.codec.cache import MAX_BYTES, BoundedCache, learned_bytes
from lazyentity.codec.undecoded import undecoded_template
from lazyentity.patches.appengine.ndb.seams import CONSTRUCTING, FILLING, READING, RECEIVING
from lazyentity.patches.inheritance import inherits

_Model: Any = model.Model
_Property: Any = model.Property
_Structured: Any = model.StructuredProperty

_TEXT_CONVERSIONS = tuple(
    vars(kind)["_from_base_type"] for kind in (model.BlobProperty, model.TextProperty)
)
_WIRE_VALUES: dict[Any, tuple[type, Callable[[Any], Any] | None]] = {
    model.BooleanProperty: (bool, None),
    model.IntegerProperty: (int, None),
    model.FloatProperty: (float, None),
    model.BlobProperty: (bytes, None),
    model.DateTimeProperty: (int, lambda value: model._EPOCH + timedelta(microseconds=value)),
}
"""By the class whose ``_db_get_value`` a property has: the type of a value in the wire format, and
the function that makes the base value of it; None, if the value is the base value."""


@dataclass(frozen=True, slots=True)
class ReadProperty:
    """How the value of a property that is not repeated is read.

    Attributes:
        prop: ndb's property.
        stored: its stored name, the object that is a key of the values: dicts find that fastest.
        name: its name in the entity.
        kind: the type of its values in the wire format; None, if ndb has to find them.
        make: makes the base value of such a value; None, if the value is the base value.
        user_kind: the type of the values that are the user's values already; None, if none are.
        conversions: ndb's functions that make the user's value of the base value.
    """

    prop: Any
    stored: bytes
    name: str
    kind: type | None
    make: Callable[[Any], Any] | None
    user_kind: type | None
    conversions: tuple[Any, ...]


def _read_property(prop: Any, stored: bytes, name: str) -> ReadProperty:
    conversions = tuple(prop._find_methods("_from_base_type", reverse=True))
    kinds = (
        wire for kind, wire in _WIRE_VALUES.items() if inherits(prop, ("_db_get_value",), kind)
    )
    kind, make = next(kinds, (None, None))
    user_kind = kind if make is None and not conversions else None
    if kind is bytes and list(map(id, conversions)) == list(map(id, _TEXT_CONVERSIONS)):
        user_kind = str
    return ReadProperty(prop, stored, name, kind, make, user_kind, conversions)


class LegacyModelMapping:
    """How models of a class are made of entities that have the same names.

    Args:
        model_class: a subclass of ``ndb.Model``.
        taken: by stored name of a model's property, the entity's properties that make it; None, if
            ndb has to make the model.

    Attributes:
        is_lazy: whether a model can be made lazily at all.
        template: the stored names of the properties, each mapped to ``UNDECODED``.
        names: as ``taken``.
        declared: ndb's properties, by stored name.
        readings: by stored name, of the properties whose values ndb's own methods read.
        reading_of: the readings by the identity of the property.
        is_constructed_empty: whether all that the constructor does is to make ``_values``.
        kind: the kind that a key must have; None, if a key must satisfy more than that.
        known: the properties of the class.
        writing: how such models are written; None, until one is.
    """

    def __init__(self, model_class: Any, taken: dict[bytes, tuple[str, ...]] | None) -> None:
        self.known = model_class._properties
        self._known_count = len(self.known)
        self.is_lazy = taken is not None
        self.names = taken or {}
        self.template = undecoded_template(self.names)
        self.declared = {name: self.known[name.decode()] for name in self.names}
        self.readings = {
            name: _read_property(prop, name, self.names[name][0])
            for name, prop in self.declared.items()
            if len(self.names[name]) == 1
            and not prop._repeated
            and inherits(prop, READING, _Property)
        }
        # The readings keep the properties alive, so that no id is reused.
        self.reading_of = {id(reading.prop): reading for reading in self.readings.values()}
        sets_plainly = inherits(model_class, ("__setattr__",), object, model.Expando)
        self.is_constructed_empty = (
            sets_plainly
            and model_class.__new__ is object.__new__
            and type(model_class).__call__ is type.__call__
            and inherits(model_class, CONSTRUCTING, _Model, model.Expando)
        )
        self.kind = _kind_of_keys(model_class) if sets_plainly else None
        self.writing: Any = None

    def serves(self, model_class: Any) -> bool:
        """Whether the class still has the properties that it had."""
        known = model_class._properties
        return known is self.known and len(known) == self._known_count


def _kind_of_keys(model_class: Any) -> bytes | None:
    if not (
        model_class._key is _Model._key
        and inherits(model_class, ("_validate_key",), _Model)
        and inherits(model_class, ("_get_kind", "_class_name"), _Model, polymodel.PolyModel)
    ):
        return None
    kind = model_class._get_kind()
    return kind.encode() if isinstance(kind, str) else None


def _take(model_class: Any, names: Collection[str]) -> dict[bytes, tuple[str, ...]] | None:
    """Return what a model takes from an entity with ``names``; None, if ndb has to make it."""
    if not inherits(model_class, FILLING, _Model):
        return None
    taken: dict[bytes, tuple[str, ...]] = {}
    for name in names:
        head, _, rest = name.partition(".")
        stored = head.encode()
        prop = model_class._properties.get(head)
        if (
            # ndb makes a property of it, unless it ignores a part of a structured one.
            prop is None
            or prop._name != stored
            or not inherits(prop, RECEIVING, _Property, _Structured)
            or (prop._repeated and "." in rest and isinstance(prop, _Structured))
        ):
            return None
        taken[stored] = (*taken.get(stored, ()), name)
    return taken


# By class and shape.
MAPPINGS: BoundedCache[tuple[Any, Any], LegacyModelMapping] = BoundedCache(MAX_BYTES)
_known_mapping = MAPPINGS.get


def mapping_for(model_class: Any, index: Any) -> LegacyModelMapping:
    """Return the mapping for models of a class, made of an entity.

    The mapping is kept if the shape of the entity is kept.

    Args:
        model_class: a subclass of ``ndb.Model``.
        index: of the entity.
    """
    shape = index.shape
    is_kept = shape.template is not None
    mapping = _known_mapping((model_class, shape)) if is_kept else None
    if mapping is not None and mapping.serves(model_class):
        return mapping
    mapping = LegacyModelMapping(model_class, _take(model_class, index.names))
    if is_kept:
        # The shape is in the key. A mapping itself has as many dicts and tuples of the same names.
        MAPPINGS.keep((model_class, shape), mapping, 4 * learned_bytes(None, shape.template))
    return mapping
