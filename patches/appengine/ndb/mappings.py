"""Mappings: how models of a class are made of entities with the same names.

A mapping tells of which entries of an entity each property of a model is made, and of which
properties ndb's own methods alone read the value; these may be bypassed.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from google.appengine.ext.ndb import model, polymodel

from lazyentity._backend import type_version
from lazyentity.codec.cache import BoundedCache
from lazyentity.codec.limits import MAX_BYTES, learned_bytes
from lazyentity.codec.undecoded import undecoded_template
from lazyentity.patches.appengine.ndb.orphans import are_made_by_ndb
from lazyentity.patches.appengine.ndb.upstream import methods, upstream_function, upstream_functions
from lazyentity.patches.upstream import entry_of, is_upstream

_Model: Any = model.Model
_Property: Any = model.Property
_Structured: Any = model.StructuredProperty

_own_init = upstream_function(_Model, "__init__")
_get_arg = upstream_function(_Model, "_Model__get_arg")
_own_set_attributes = upstream_functions("_set_attributes", _Model, model.Expando)
_own_kinds = upstream_functions("_get_kind", _Model, polymodel.PolyModel)
_class_names = upstream_functions("_class_name", _Model, polymodel.PolyModel)
_expando_setattr = upstream_function(model.Expando, "__setattr__")

# Methods that fill a model from an entity, after the constructor.
_FILLING = methods(_Model, "_get_property_for", "_set_projection")
# Methods that give a property a value of the entity, and that read it or test for it.
_RECEIVING = {
    name: upstream_functions(name, _Property, _Structured)
    for name in ("_deserialize", "_has_value", "_retrieve_value", "_store_value")
}
# Methods that read a property, beginning with the descriptor. ndb itself finds the conversions.
_READING = methods(
    _Property,
    "_apply_list",
    "_apply_to_values",
    "_call_from_base_type",
    "_deserialize",
    "_get_user_value",
    "_get_value",
    "_opt_call_from_base_type",
    "_retrieve_value",
    "_store_value",
)
# All methods of a model class that a mapping depends on.
_methods_of = operator.attrgetter(
    "_Model__get_arg",
    "__getattribute__",
    "__init__",
    "__new__",
    "__setattr__",
    "_check_initialized",
    "_class_name",
    "_clone_properties",
    "_fake_property",
    "_find_uninitialized",
    "_get_kind",
    "_get_property_for",
    "_set_attributes",
    "_set_projection",
    "_validate_key",
)
_TEXT_CONVERSIONS = (
    upstream_function(model.BlobProperty, "_from_base_type"),
    upstream_function(model.TextProperty, "_from_base_type"),
)


def _are_of_text(conversions: tuple[Any, ...]) -> bool:
    # A wrapper of wrapt equals the wrapped function.
    return len(conversions) == len(_TEXT_CONVERSIONS) and all(
        map(operator.is_, conversions, _TEXT_CONVERSIONS)
    )


_PLAIN: dict[Any, tuple[type, Callable[[Any], Any] | None]] = {
    upstream_function(model.BooleanProperty, "_db_get_value"): (bool, None),
    upstream_function(model.IntegerProperty, "_db_get_value"): (int, None),
    upstream_function(model.FloatProperty, "_db_get_value"): (float, None),
    upstream_function(model.BlobProperty, "_db_get_value"): (bytes, None),
    upstream_function(model.DateTimeProperty, "_db_get_value"): (
        int,
        lambda value: model._EPOCH + timedelta(microseconds=value),
    ),
}
"""By ndb's own ``_db_get_value``: the type of a value in the wire format, and the function that
makes the base value of it; None, if the value is the base value."""


@dataclass(frozen=True, slots=True)
class Reading:
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

    @classmethod
    def of(cls, prop: Any, stored: bytes, name: str) -> Reading:
        conversions = tuple(prop._find_methods("_from_base_type", reverse=True))
        getter = type(prop)._db_get_value
        plain = None if "_db_get_value" in vars(prop) else entry_of(getter, _PLAIN)
        kind, make = (None, None) if plain is None else plain
        user_kind = kind if make is None and not conversions else None
        if kind is bytes and _are_of_text(conversions):
            user_kind = str
        return cls(prop, stored, name, kind, make, user_kind, conversions)


class MappedProperties(NamedTuple):
    """The parts that a model takes from an entity.

    Attributes:
        names: by stored name of a model's property, the entity's properties that make it.
        orphans: the names of the properties that the class does not define.
    """

    names: dict[bytes, tuple[str, ...]]
    orphans: tuple[str, ...]


class ModelMapping:
    """How models of a class are made of entities that have the same names.

    Args:
        model_class: a subclass of ``ndb.Model``.
        taken: what a model takes from such an entity; None, if ndb has to make the model.
        names: the names of the properties of such an entity, each as often as it is there.

    Attributes:
        is_lazy: whether a model can be made lazily at all.
        template: the stored names of the properties, each mapped to ``UNDECODED``.
        names: as of :class:`MappedProperties`.
        declared: ndb's properties that the class defines, by stored name.
        properties: the template of the properties of a model; None, for the class's properties.
        readings: by stored name, of the properties whose values ndb's own methods read.
        reading_of: the readings by the identity of the property.
        counted: how often an entity has each part of a repeated structured property, by the path
            of the part.
        constructs_plainly: whether all that the constructor does is to make ``_values``.
        kind: the kind that a key must have; None, if a key must satisfy more than that.
        known, known_count, version: the state of the class.
        writing: how such models are written; None, until one is.
    """

    __slots__ = (
        "constructs_plainly",
        "counted",
        "declared",
        "is_lazy",
        "kind",
        "known",
        "known_count",
        "names",
        "properties",
        "reading_of",
        "readings",
        "template",
        "version",
        "writing",
    )

    def __init__(
        self, model_class: Any, taken: MappedProperties | None, names: Collection[str]
    ) -> None:
        self.version = _version_of(model_class)
        self.known = model_class._properties
        self.known_count = len(self.known)
        self.is_lazy = taken is not None
        self.names: dict[bytes, tuple[str, ...]] = {} if taken is None else taken.names
        self.template = undecoded_template(self.names)
        defined = {name: self.known.get(name.decode()) for name in self.names}
        self.declared = {name: prop for name, prop in defined.items() if prop is not None}
        self.properties = None
        if taken is not None and taken.orphans:
            lacked = undecoded_template(taken.orphans)
            self.properties = {**model_class._properties, **lacked}
        self.readings = {
            name: Reading.of(prop, name, self.names[name][0])
            for name, prop in self.declared.items()
            if _reads_plainly(prop, self.names[name])
        }
        # The readings keep the properties alive, so that no id is reused.
        self.reading_of = {id(reading.prop): reading for reading in self.readings.values()}
        self.counted = _counted(self.declared, self.names, names)
        self.constructs_plainly = _constructs_plainly(model_class)
        self.kind = _kind_of_keys(model_class)
        self.writing: Any = None

    def serves(self, model_class: Any) -> bool:
        """Say whether the class is as it was."""
        return (
            self.version == _version_of(model_class)
            and self.known is model_class._properties
            and self.known_count == len(self.known)
        )


def _version_of(model_class: Any) -> Any:
    version = type_version(model_class)
    if version:
        return version
    # CPython gives a class a version when an attribute of it is looked up. Without a version, and
    # in the pure backend, which cannot read it, the methods tell whether the class has changed.
    key = model_class._key
    return type_version(model_class) or (id(key), _methods_of(model_class))


def _reads_plainly(prop: Any, names: tuple[str, ...]) -> bool:
    return len(names) == 1 and not prop._repeated and _READING.are_upstream(prop)


def _constructs_plainly(model_class: Any) -> bool:
    return (
        model_class.__init__ is _own_init
        and model_class.__new__ is object.__new__
        and type(model_class).__call__ is type.__call__
        and is_upstream(model_class._Model__get_arg, _get_arg)
        and is_upstream(model_class._set_attributes, *_own_set_attributes)
        and _sets_plainly(model_class)
    )


def _sets_plainly(model_class: Any) -> bool:
    setter = model_class.__setattr__
    return setter is object.__setattr__ or setter is _expando_setattr


def _kind_of_keys(model_class: Any) -> bytes | None:
    if not (
        model_class._key is _Model._key
        and model_class._validate_key is _Model._validate_key
        and _sets_plainly(model_class)
        and is_upstream(model_class._get_kind, *_own_kinds)
        and is_upstream(model_class._class_name, *_class_names)
    ):
        return None
    kind = model_class._get_kind()
    return kind.encode() if isinstance(kind, str) else None


def _is_served(prop: Any) -> bool:
    return vars(prop).keys().isdisjoint(_RECEIVING) and all(
        is_upstream(getattr(type(prop), name), *functions) for name, functions in _RECEIVING.items()
    )


def _take(model_class: Any, names: Iterable[str]) -> MappedProperties | None:
    """Return what a model takes from an entity with ``names``; None: ask ndb."""
    if not _FILLING.are_upstream(model_class):
        return None
    taken: dict[bytes, tuple[str, ...]] = {}
    orphans = []
    for name in names:
        head, _, rest = name.partition(".")
        stored = head.encode()
        prop = model_class._properties.get(head)
        if prop is None:
            if name != head or not are_made_by_ndb(model_class):
                return None
            orphans.append(name)
        elif prop._name != stored or not _is_served(prop) or _may_be_skipped(prop, rest):
            return None
        taken[stored] = (*taken.get(stored, ()), name)
    return MappedProperties(taken, tuple(orphans))


def _counted(
    declared: dict[bytes, Any], taken: dict[bytes, tuple[str, ...]], names: Collection[str]
) -> tuple[tuple[list[str], int], ...]:
    parts = {
        name
        for stored, prop in declared.items()
        if prop._repeated and isinstance(prop, _Structured)
        for name in taken[stored]
        if "." in name
    }
    found = Counter(name for name in names if name in parts)
    return tuple((name.split("."), count) for name, count in found.items())


def counter_of(counted: tuple[tuple[list[str], int], ...]) -> Any:
    """Return the counter that ndb leaves in a model, as it is when the model is made.

    Args:
        counted: as of :class:`ModelMapping`.
    """
    counter = model._NestedCounter()
    for path, count in counted:
        counter.increment(path)
        leaf = counter
        for part in path:
            leaf = leaf._NestedCounter__sub_counters[part]
        leaf._set(count)
    return counter


def _may_be_skipped(prop: Any, rest: str) -> bool:
    """Say whether ndb may ignore a part of a repeated structured property, with a warning."""
    return prop._repeated and "." in rest and isinstance(prop, _Structured)


# By class and shape.
MAPPINGS: BoundedCache[tuple[Any, Any], ModelMapping] = BoundedCache(MAX_BYTES)
_known_mapping = MAPPINGS.get


def mapping_for(model_class: Any, index: Any) -> ModelMapping:
    """Return the mapping for models of a class, as the class is now, made of an entity.

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
    mapping = ModelMapping(model_class, _take(model_class, index.names), index.entry_names())
    if is_kept:
        # The shape is in the key. A mapping itself has as many dicts and tuples of the same names.
        MAPPINGS.keep((model_class, shape), mapping, 4 * learned_bytes(None, shape.template))
    return mapping
