"""Mappings: how models of a class are made of entities with the same names.

A mapping tells which of an entity's properties a model takes. It also tells for which of them ndb's
own methods alone read and write the value; these may be bypassed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from google.cloud.ndb import model
from google.cloud.ndb.key import Key

from lazyentity.codec.cache import MAX_BYTES, BoundedCache, learned_bytes
from lazyentity.codec.undecoded import undecoded_template
from lazyentity.patches.inheritance import inherits
from lazyentity.patches.ndb.expandos import DynamicProperties, is_dynamic, makes_dynamic_properties
from lazyentity.patches.ndb.seams import CONSTRUCTING, READING, WRITING
from lazyentity.patches.ndb.structured import Parts, in_parts, joins_parts, part_of, stores_values

_Model = model.Model
_Property = model.Property

_new = object.__new__


def ndb_key(ds_key: Any) -> Any:
    """Make a key as ``Key._from_ds_key()`` does."""
    key = _new(Key)
    key._key, key._reference = ds_key, None
    return key


def is_written_unchanged(prop: Any) -> bool:
    """Whether an unread value of a property can be written back unchanged."""
    return not prop._repeated and not prop._required and inherits(prop, WRITING, _Property)


_KEPT = (
    (vars(model.BooleanProperty)["_from_base_type"], bool),
    (vars(model.TextProperty)["_from_base_type"], str),
)
"""The conversions that return values of a type unchanged."""


def _conversion(prop: Any) -> tuple[Any, tuple[Any, ...], type | None]:
    methods = tuple(prop._find_methods("_from_base_type", reverse=True))
    kept = (kind for method, kind in _KEPT if len(methods) == 1 and methods[0] is method)
    return prop, methods, next(kept, None)


class MappedProperties(NamedTuple):
    """The properties that a model takes from an entity.

    Attributes:
        properties: the properties that the class defines, by stored name.
        dynamic_names: of an ``Expando``, the names of all others.
        names: all of these, in the order of the entity.
        parts: of the structured properties that the entity has under dotted names.
    """

    properties: dict[str, Any]
    dynamic_names: tuple[str, ...]
    names: tuple[str, ...]
    parts: Parts


class ModelMapping:
    """How models of a class are made of entities that have the same names.

    Args:
        model_class: a subclass of ``ndb.Model``.
        taken: what a model takes from such an entity; None, if ndb has to make the model.
        is_kept: whether the mapping is for further entities, too.

    Attributes:
        model_class: the class.
        properties: ndb's properties, by stored name, of all that a model takes from such an entity
            and its class defines; None, if ndb has to make the model.
        parts: as of :class:`MappedProperties`; empty, if no name is dotted.
        dynamic: the dynamic properties of an ``Expando``; None, if there are none.
        template: where nothing is dynamic, the names of the properties, each mapped to
            ``UNDECODED``.
        conversions: by stored name, of the properties that have one value and that ndb's own
            methods read: the property, the functions that make the user's value of the base value,
            and the type of base values that are the user's already.
        is_constructed_empty: whether all that the constructor does is to make ``_values``.
        takes_keys_of_its_kind: whether every key of the class's kind will do.
    """

    def __init__(self, model_class: Any, taken: MappedProperties | None, is_kept: bool) -> None:
        self.model_class = model_class
        self._defined = model_class._properties
        self._defined_count = len(self._defined)
        self.properties: Any = None if taken is None else taken.properties
        self.parts: Parts = {} if taken is None else taken.parts
        self.dynamic = None
        if taken is not None and taken.dynamic_names:
            names = taken.dynamic_names
            self.dynamic = DynamicProperties(model_class, names, taken.names, is_kept)
        fixed = self.properties if self.dynamic is None else None
        self.template: dict[str, Any] = undecoded_template(fixed or ())
        self.conversions = {
            name: _conversion(prop)
            for name, prop in (self.properties or {}).items()
            if not prop._repeated and inherits(prop, READING, _Property)
        }

        self.is_constructed_empty = is_constructed_empty(model_class)
        self.takes_keys_of_its_kind = (
            model_class._key is _Model._key
            and inherits(model_class, ("_validate_key",), _Model)
            and inherits(model_class, ("__setattr__",), object, model.Expando)
        )

    def serves(self) -> bool:
        """Whether the class still has the properties that it had."""
        defined = self.model_class._properties
        return defined is self._defined and len(defined) == self._defined_count


def is_constructed_empty(model_class: Any) -> bool:
    """Whether constructing a model only makes ``_values``."""
    return (
        model_class.__new__ is object.__new__
        and type(model_class).__call__ is type.__call__
        and inherits(model_class, CONSTRUCTING, _Model, model.Expando)
    )


def _take(model_class: Any, kind: Any, names: Any) -> MappedProperties | None:
    """Return what a model takes from an entity with ``names``; None, if ndb has to make it."""
    properties: dict[str, Any] = {}
    dynamic_names = []
    taken_names: dict[str, None] = {}
    parts = []
    makes_properties = False
    for stored_name in names:
        name = model_class._code_name_from_stored_name(stored_name)
        prop = getattr(model_class, name, None)
        whole = part_of(model_class, name) if prop is None and "." in name else None
        if whole is not None:
            # Several properties of the entity make one of the model's.
            prop, taken_name = whole, stored_name.partition(".")[0]
            parts.append((taken_name, stored_name))
        else:
            taken_name = stored_name
        if prop is None and kind is not None and kind != model_class.__name__:
            prop = getattr(_Model._lookup_model(kind), name, None)
        if isinstance(prop, _Property):
            if prop._name != taken_name or not (
                joins_parts(whole) if whole is not None else stores_values(prop)
            ):
                return None
            properties[taken_name] = prop
        elif issubclass(model_class, model.Expando):
            makes_properties = makes_properties or makes_dynamic_properties(model_class)
            if not makes_properties:
                return None
            if not is_dynamic(stored_name, name):
                return None
            dynamic_names.append(stored_name)
        else:
            continue
        taken_names[taken_name] = None
    found = in_parts(parts) if parts else {}
    for name in found:
        if name in names:
            return None
    return MappedProperties(properties, tuple(dynamic_names), tuple(taken_names), found)


def named_kind(class_key: Any) -> Any:
    """Return the kind by which ndb finds the class of a model whose entity names its class.

    Args:
        class_key: the property ``class``: of a ``PolyModel`` a list, in a projection one of it.
    """
    return class_key[-1] if isinstance(class_key, list) else class_key


# By class, kind, the class of the kind, and shape.
MAPPINGS: BoundedCache[tuple[Any, Any, Any, Any], ModelMapping] = BoundedCache(MAX_BYTES)
_known_mapping = MAPPINGS.get


def mapping_for(model_class: Any, kind: Any, shape: Any) -> ModelMapping:
    """Return the mapping for models of a class, made of entities of a shape.

    The mapping is kept if the shape is kept.

    Args:
        model_class: a subclass of ``ndb.Model``.
        kind: the kind that the entity names itself, or its class in it.
        shape: the shape of the lazy entity.

    Raises:
        google.cloud.ndb.model.KindError: if the class lacks a property, and nobody knows the kind.
    """
    is_kept = shape.template is not None
    key = model_class, kind, _Model._kind_map.get(kind), shape
    mapping = _known_mapping(key) if is_kept else None
    if mapping is None or not mapping.serves():
        taken = _take(model_class, kind, shape.ordinals)
        mapping = ModelMapping(model_class, taken, is_kept)
        if is_kept:
            MAPPINGS.keep(key, mapping, _mapping_bytes(shape))
    return mapping


def _mapping_bytes(shape: Any) -> int:
    # The shape is in the key. A mapping itself has as many dicts and tuples of the same names, and
    # a tuple of the conversions of each.
    return 3 * learned_bytes(None, shape.template)
