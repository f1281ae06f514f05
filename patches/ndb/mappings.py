"""Mappings: how models of a class are made of entities with the same names.

A mapping tells which of an entity's properties a model takes. It also tells for which of them ndb's
own methods alone read and write the value; these may be bypassed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from google.cloud.ndb import key as key_module
from google.cloud.ndb import model

from lazyentity._backend import type_version
from lazyentity.codec.cache import BoundedCache
from lazyentity.codec.describing import property_name
from lazyentity.codec.limits import MAX_BYTES, learned_bytes
from lazyentity.codec.undecoded import undecoded_template
from lazyentity.patches.ndb.expandos import (
    DynamicProperties,
    are_same,
    is_dynamic,
    makes_dynamic_properties,
)
from lazyentity.patches.ndb.structured import Parts, in_parts, obstacle, part_of, storing_obstacle
from lazyentity.patches.ndb.upstream import methods, upstream_function, upstream_functions
from lazyentity.patches.upstream import entry_of, is_upstream

_Model = model.Model
_Property = model.Property

_model_init = upstream_function(_Model, "__init__")
_get_arg = upstream_function(_Model, "_get_arg")
_validate_key = upstream_function(_Model, "_validate_key")
_own_set_attributes = upstream_functions("_set_attributes", _Model, model.Expando)
_expando_setattr = upstream_function(model.Expando, "__setattr__")

# The methods that read a property, from the descriptor to its value. ndb itself finds the
# conversions.
_READING = methods(
    "_apply_list",
    "_apply_to_values",
    "_call_from_base_type",
    "_from_datastore",
    "_get_user_value",
    "_get_value",
    "_opt_call_from_base_type",
    "_retrieve_value",
)
# The methods that write a value that was never read.
_WRITING = methods(
    "_apply_to_values",
    "_from_datastore",
    "_get_base_value",
    "_get_base_value_unwrapped_as_list",
    "_is_initialized",
    "_opt_call_to_base_type",
    "_retrieve_value",
    "_to_datastore",
)


_new: Final = object.__new__
_Key: Final = key_module.Key
# It shows what the class has now.
_key_attributes: Final = vars(_Key)
_found: Final = _key_attributes["_from_ds_key"]
_from_ds_key: Final = _found if is_upstream(_found, key_module) else None


def makes_keys() -> bool:
    """Whether nobody replaced the function that makes ndb's keys of the client's."""
    return key_module.Key is _Key and _key_attributes["_from_ds_key"] is _from_ds_key


def ndb_key(ds_key: Any) -> Any:
    """Make a key as ``Key._from_ds_key()`` does; it is called if somebody replaced it."""
    # As makes_keys(), which is a call for each model.
    if key_module.Key is not _Key or _key_attributes["_from_ds_key"] is not _from_ds_key:
        return key_module.Key._from_ds_key(ds_key)
    key = _new(_Key)
    key._key, key._reference = ds_key, None
    return key


def is_written_plainly(prop: Any) -> bool:
    """Whether an unread value of a property can be written back unchanged."""
    return not prop._repeated and not prop._required and _WRITING.are_upstream(prop)


OF_CONSTRUCTOR: Final = "the class of an Expando has a constructor of its own"
OF_MAKING: Final = "the class overrides how an Expando makes properties"
"""The reasons why ndb makes the models of a class of Expandos."""

_KEPT = {
    upstream_function(model.BooleanProperty, "_from_base_type"): bool,
    upstream_function(model.TextProperty, "_from_base_type"): str,
}
"""The type of values that a conversion returns unchanged."""


def _conversion(prop: Any) -> tuple[Any, tuple[Any, ...], type | None]:
    methods = tuple(prop._find_methods("_from_base_type", reverse=True))
    return prop, methods, entry_of(methods[0], _KEPT) if len(methods) == 1 else None


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
        taken: what a model takes from such an entity; the reason, if ndb has to make the model.
        is_kept: whether the mapping is for further entities, too.

    Attributes:
        model_class: the class.
        properties: ndb's properties, by stored name, of all that a model takes from such an entity
            and its class defines; None, if ndb has to make the model.
        obstacle: the reason why ndb has to make the model; None, if it need not.
        parts: as of :class:`MappedProperties`; empty, if no name is dotted.
        dynamic: the dynamic properties of an ``Expando``; None, if there are none.
        template: where nothing is dynamic, the names of the properties, each mapped to
            ``UNDECODED``.
        conversions: by stored name, of the properties that have one value and that ndb's own
            methods read: the property, the functions that make the user's value of the base value,
            and the type of base values that are the user's already.
        constructs_plainly: whether all that the constructor does is to make ``_values``.
        takes_keys_of_its_kind: whether every key of the class's kind will do.
        classes: their state.
    """

    def __init__(self, model_class: Any, taken: MappedProperties | str, is_kept: bool) -> None:
        self.model_class = model_class
        self.obstacle = taken if isinstance(taken, str) else None
        self.properties = None if isinstance(taken, str) else taken.properties
        self.parts: Parts = {} if isinstance(taken, str) else taken.parts
        self.dynamic = None
        if not isinstance(taken, str) and taken.dynamic_names:
            names = taken.dynamic_names
            self.dynamic = DynamicProperties(model_class, names, taken.names, is_kept)
        fixed = self.properties if self.dynamic is None else None
        self.template: dict[str, Any] = undecoded_template(fixed or ())
        self.conversions = {
            name: _conversion(prop)
            for name, prop in (self.properties or {}).items()
            if not prop._repeated and _READING.are_upstream(prop)
        }

    def serves(self, model_class: Any, taken: MappedProperties | str) -> bool:
        """Say whether a new mapping would be equal, apart from the parts that :meth:`see` sets."""
        if isinstance(taken, str) or self.properties is None:
            return taken == self.obstacle
        if not are_same(taken.properties, self.properties) or taken.parts != self.parts:
            return False
        if self.dynamic is None:
            return not taken.dynamic_names
        return self.dynamic.serves(model_class, taken.dynamic_names)

    def see(self, model_class: Any, classes: _Classes) -> None:
        """Remember the state of the classes for which this mapping serves."""
        self.constructs_plainly = constructs_plainly(model_class)
        self.takes_keys_of_its_kind = (
            model_class._key is _Model._key
            and model_class._validate_key is _validate_key
            and (
                model_class.__setattr__ is object.__setattr__
                or model_class.__setattr__ is _expando_setattr
            )
        )
        self.classes = classes


def constructs_plainly(model_class: Any) -> bool:
    """Whether constructing a model only makes ``_values``."""
    return (
        model_class.__new__ is object.__new__
        and model_class.__init__ is _model_init
        and type(model_class).__call__ is type.__call__
        and is_upstream(model_class._get_arg, _get_arg)
        and is_upstream(model_class._set_attributes, *_own_set_attributes)
    )


class _Classes(NamedTuple):
    """The state of the classes that a mapping was made for.

    Attributes:
        known_count: how many properties the class had, as ndb keeps them.
        subclass: the class that ndb asks for properties that the class lacks; None, if there is
            none.
        subclass_version: the version of the subclass, see ``type_version``.
        version: the version of the class itself.

    Where CPython has given a class no version, it is None, which is no class's version.
    """

    known_count: int
    subclass: Any
    subclass_version: int | None
    version: int | None

    @classmethod
    def of(cls, model_class: Any, kind: Any) -> _Classes:
        version = _version_of(model_class)
        known_count = len(model_class._properties)
        is_other = kind is not None and kind != model_class.__name__
        subclass: Any = _Model._kind_map.get(kind) if is_other else None
        if subclass is None:
            return cls(known_count, None, None, version)
        return cls(known_count, subclass, _version_of(subclass), version)

    def has_subclass(self, kind: Any) -> bool:
        """Whether the class that ndb asks for further properties is as it was."""
        return self.subclass is _Model._kind_map.get(
            kind
        ) and self.subclass_version == type_version(self.subclass)


def _version_of(model_class: Any) -> int | None:
    # CPython gives a class a version when an attribute of it is looked up.
    _ = model_class._properties
    return type_version(model_class) or None


def _take(model_class: Any, kind: Any, names: Any) -> MappedProperties | str:
    """Return what a model takes from an entity with ``names``; if ndb must, the reason."""
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
            reason = _obstacle(prop, stored_name, taken_name, whole)
            if reason is not None:
                return reason
            properties[taken_name] = prop
        elif issubclass(model_class, model.Expando):
            makes_properties = makes_properties or makes_dynamic_properties(model_class)
            if not makes_properties:
                return OF_MAKING
            if not is_dynamic(model_class, stored_name, name):
                return f"{property_name(stored_name)} cannot be the name of a dynamic property"
            dynamic_names.append(stored_name)
        else:
            continue
        taken_names[taken_name] = None
    found = in_parts(parts) if parts else {}
    for name in found:
        if name in names:
            return f"the entity has {property_name(name)} as a whole and in parts"
    return MappedProperties(properties, tuple(dynamic_names), tuple(taken_names), found)


def _obstacle(prop: Any, stored_name: str, taken_name: str, whole: Any) -> str | None:
    if prop._name != taken_name:
        return (
            f"the entity has {property_name(stored_name)} under the code name of a property that "
            f"is stored as {property_name(prop._name)}"
        )
    return obstacle(whole) if whole is not None else storing_obstacle(prop)


def named_kind(class_key: Any) -> Any:
    """Return the kind by which ndb finds the class of a model whose entity names its class.

    Args:
        class_key: the property ``class``: of a ``PolyModel`` a list, in a projection one of it.
    """
    return class_key[-1] if isinstance(class_key, list) else class_key


# By class, kind and shape.
MAPPINGS: BoundedCache[tuple[Any, Any, Any], ModelMapping] = BoundedCache(MAX_BYTES)
_known_mapping = MAPPINGS.get


def mapping_for(model_class: Any, kind: Any, shape: Any) -> ModelMapping:
    """Return the mapping for models of a class, made of entities of a shape, as the class is now.

    The mapping is kept if the shape is kept.

    Args:
        model_class: a subclass of ``ndb.Model``.
        kind: the kind that the entity names itself, or its class in it.
        shape: the shape of the lazy entity.

    Raises:
        google.cloud.ndb.model.KindError: if the class lacks a property, and nobody knows the kind.
    """
    is_kept = shape.template is not None
    key = model_class, kind, shape
    mapping = _known_mapping(key) if is_kept else None
    if mapping is not None:
        known = mapping.classes
        if (
            known.version == type_version(model_class)
            and known.known_count == len(model_class._properties)
            and (known.subclass is None or known.has_subclass(kind))
        ):
            return mapping
    # First, before the classes are read: a change in between is found the next time.
    classes = _Classes.of(model_class, kind)
    taken = _take(model_class, kind, shape.ordinals)
    if mapping is None or not mapping.serves(model_class, taken):
        mapping = ModelMapping(model_class, taken, is_kept)
        mapping.see(model_class, classes)
        if is_kept:
            MAPPINGS.keep(key, mapping, _mapping_bytes(shape))
    else:
        mapping.see(model_class, classes)
    return mapping


def _mapping_bytes(shape: Any) -> int:
    # The shape is in the key. A mapping itself has as many dicts and tuples of the same names, and
    # a tuple of the conversions of each.
    return 3 * learned_bytes(None, shape.template)
