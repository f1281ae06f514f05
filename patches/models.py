"""Models of google-cloud-ndb whose values are made of the entity's bytes when they are read.

A model keeps its values in the dict ``_values``, by the names that they are stored under; a model
that is read from an entity gets a :class:`LazyValues` there. All that models and properties do with
it (validators, hooks, user values, comparison, writing) is ndb's own, and finds the base values
that ndb would have put there when it made the model.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from google.cloud.ndb import key as key_module
from google.cloud.ndb import model
from google.cloud.ndb.exceptions import BadValueError

from lazyentity._backend import type_version
from lazyentity._eager import eager
from lazyentity.codec import errors
from lazyentity.codec.lazydict import LazyDict
from lazyentity.entity import LazyEntity
from lazyentity.patches.registry import Seam
from lazyentity.patches.responses import EntityHandle
from lazyentity.undecoded import UNDECODED

_Original = Callable[..., Any]

_Model = model.Model
_Property = model.Property
_base_value = model._BaseValue


def _own(kind: Any, name: str) -> Any:
    """Return ndb's own method of a class; something else, if somebody has replaced it already."""
    method = inspect.getattr_static(kind, name)
    return method if _is_own(getattr(method, "__func__", method)) else object()


def _is_own(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == model.__file__


_model_init = _own(_Model, "__init__")
_store_value = _own(_Property, "_store_value")
_blob_from_datastore = _own(model.BlobProperty, "_from_datastore")

_new = object.__new__
_new_values: Any = dict.__new__
_stored = dict.__getitem__
_found = dict.get
_store = dict.__setitem__
_fill = dict.update


class Plan:
    """How models of one class are made of entities that have the same names.

    Attributes:
        properties: ndb's properties, by stored name, of all that a model takes from such an entity;
            None, if ndb has to make the model.
        template: each of these names, mapped to ``UNDECODED``.
        conversions: by stored name, of the properties that have one value and ndb's own way of
            reading it: the property, what makes the user's value of the base value, and the type
            of base values that are the user's already.
        spliced: the stored names of the properties that are written as they came, if they were
            not read and their flag is that of the property.
        constructs_plainly: whether all that the constructor does is to make ``_values``.
        takes_keys_of_its_kind: whether that is all that a key has to be.
        known_count: how many properties the class had, as ndb keeps them.
        version: that of the class when this was made, see ``type_version``.
        subclass: the class that is asked for properties which the class has not; None, if there is
            none.
        subclass_version: the version of that.
    """

    __slots__ = (
        "constructs_plainly",
        "conversions",
        "known_count",
        "properties",
        "spliced",
        "subclass",
        "subclass_version",
        "takes_keys_of_its_kind",
        "template",
        "version",
    )

    def __init__(self, model_class: Any, kind: Any, names: Any) -> None:
        self.note_versions(model_class, kind)
        self.properties = _properties(model_class, kind, names)
        self.template = dict.fromkeys(self.properties or (), UNDECODED)
        self.conversions = {
            name: _conversion(prop)
            for name, prop in (self.properties or {}).items()
            if _is_plain(prop, _READING)
        }
        self.spliced = frozenset(
            name
            for name, prop in (self.properties or {}).items()
            if _is_plain(prop, _WRITING) and not prop._required
        )
        self.constructs_plainly = (
            model_class.__new__ is object.__new__
            and model_class._get_arg.__func__ is _Model._get_arg.__func__
            and model_class._set_attributes
            in (_Model._set_attributes, model.Expando._set_attributes)
        )
        self.takes_keys_of_its_kind = (
            model_class._key is _Model._key and model_class._validate_key is _Model._validate_key
        )

    def note_versions(self, model_class: Any, kind: Any) -> None:
        """Remember what the classes are like now."""
        # That an attribute is looked up is what makes CPython give a class a version.
        self.known_count = len(model_class._properties)
        self.version = type_version(model_class)
        is_other = kind is not None and kind != model_class.__name__
        self.subclass = _Model._kind_map.get(kind) if is_other else None
        self.subclass_version = 0
        if self.subclass is not None:
            self.subclass_version = len(self.subclass._properties) and type_version(self.subclass)

    def has_subclass(self, kind: Any) -> bool:
        """Say whether the class that is asked for further properties is as it was."""
        return (
            self.subclass is _Model._kind_map.get(kind)
            and self.subclass_version != 0
            and type_version(self.subclass) == self.subclass_version
        )


class LazyValues(LazyDict):
    """The values of a model: each is made of the entity's property when it is first asked for.

    What fails raises what it would have raised when the model was made, now for every read of that
    one property.
    """

    __slots__ = ("_conversions", "_entity", "_properties", "_spliced")

    _entity: Any
    """The lazy entity."""
    _properties: Any
    _conversions: Any
    _spliced: frozenset[str]
    """These three as in :class:`Plan`."""

    def __getitem__(self, name: Any, /) -> Any:
        value = _stored(self, name)
        return value if value is not UNDECODED else self._make(name)

    def get(self, name: Any, default: Any = None, /) -> Any:
        value = _found(self, name, default)
        return value if value is not UNDECODED else self._make(name)

    def _make(self, name: Any) -> Any:
        value = self._base_value(name)
        _store(self, name, value)
        return value

    def _decode_all(self) -> None:
        made = {name: self._base_value(name) for name in self._undecoded()}
        _fill(self, made)

    def _base_value(self, name: Any) -> Any:
        # What follows is ndb's _entity_from_ds_entity(), for one property.
        prop = self._properties[name]
        value = self._entity[name]
        try:
            if value is None:
                pass
            elif not prop._repeated:
                value = _base_value(value)
            elif isinstance(value, list):
                value = [None if item is None else _base_value(item) for item in value]
            else:
                # Of a projection query.
                value = [_base_value(value)]
            return prop._from_datastore(self._source_of(name, prop), value)
        except Exception as error:
            errors.note_property(error, name, self._entity._raw)
            raise

    def _source_of(self, name: Any, prop: Any) -> Any:
        # What reads meanings, reads them of all properties, and decodes each that has one.
        if type(prop)._from_datastore is _blob_from_datastore:
            return SimpleNamespace(_meanings=self._entity._wire_meanings((name,)))
        return self._entity

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self.copy(),)


# What reading a property comes down to, from the descriptor to its value.
_READING = (
    "_apply_list",
    "_apply_to_values",
    "_call_from_base_type",
    "_find_methods",
    "_from_datastore",
    "_get_user_value",
    "_get_value",
    "_opt_call_from_base_type",
    "_retrieve_value",
)
# What writing the value that nobody has read comes down to.
_WRITING = (
    "_apply_to_values",
    "_from_datastore",
    "_get_base_value",
    "_get_base_value_unwrapped_as_list",
    "_is_initialized",
    "_opt_call_to_base_type",
    "_retrieve_value",
    "_to_datastore",
)
_METHODS = {name: _own(_Property, name) for name in (*_READING, *_WRITING)}


def _is_plain(prop: Any, methods: Iterable[str]) -> bool:
    """Say whether a property has one value, and these methods are those of ``ndb.Property``."""
    return (
        not prop._repeated
        and vars(prop).keys().isdisjoint(methods)
        and all(inspect.getattr_static(type(prop), name) is _METHODS[name] for name in methods)
    )


_KEPT = {
    _own(model.BooleanProperty, "_from_base_type"): bool,
    _own(model.TextProperty, "_from_base_type"): str,
}
"""What some conversions give back as it is."""


def _conversion(prop: Any) -> tuple[Any, tuple[Any, ...], type | None]:
    methods = tuple(prop._find_methods("_from_base_type", reverse=True))
    return prop, methods, _KEPT.get(methods[0]) if len(methods) == 1 else None


def property_get(original: _Original, is_active: Callable[[], bool]) -> _Original:
    """Return what reads the value of a property where ``original``, the descriptor's own, does."""
    reads_plainly = _is_own(original)

    @functools.wraps(original)
    def __get__(prop: Any, instance: Any, model_class: Any = None) -> Any:  # noqa: N807  # its name
        if instance is None:
            return original(prop, instance, model_class)
        values = instance._values
        if type(values) is LazyValues and reads_plainly:
            # What follows is all that _READING does, where the value was not read before.
            name = prop._name
            known, conversions, kept_type = values._conversions.get(name, _NO_CONVERSION)
            if (
                known is prop
                and _found(values, name) is UNDECODED
                and not instance._projection
                and is_active()
            ):
                value = values._entity[name]
                kind = type(value)
                if kind is not list:
                    if kind is not kept_type and value is not None:
                        for convert in conversions:
                            converted = convert(prop, value)
                            if converted is not None:
                                value = converted
                    _store(values, name, value)
                    return value
        return original(prop, instance, model_class)

    return __get__


_NO_CONVERSION = (None, (), None)


def _properties(model_class: Any, kind: Any, names: Any) -> dict[str, Any] | None:
    """Return what a model takes from an entity that has ``names``; None, if ndb has to say."""
    properties: dict[str, Any] = {}
    for stored_name in names:
        name = model_class._code_name_from_stored_name(stored_name)
        prop = getattr(model_class, name, None)
        if prop is None:
            if "." in name:
                supername = model_class._code_name_from_stored_name(name.partition(".")[0])
                if isinstance(getattr(model_class, supername, None), model.StructuredProperty):
                    # Several properties of the entity make one of the model's.
                    return None
            if kind is not None and kind != model_class.__name__:
                prop = getattr(_Model._lookup_model(kind), name, None)
        if not isinstance(prop, _Property):
            if issubclass(model_class, model.Expando):
                return None
            continue
        if prop._name != stored_name or type(prop)._store_value is not _store_value:
            return None
        properties[stored_name] = prop
    return properties


_plans: dict[tuple[Any, Any, Any], Plan] = {}
_MAX_PLANS = 256


def _new_plan(model_class: Any, kind: Any, layout: Any) -> Plan:
    """Return the plan for a class as it is now: the one there was, if it still serves."""
    plan = _plans.get((model_class, kind, layout))
    if plan is not None:
        plan.note_versions(model_class, kind)
        properties = _properties(model_class, kind, layout.ordinals)
        if _are_same(properties, plan.properties):
            return plan
    plan = Plan(model_class, kind, layout.ordinals)
    if len(_plans) >= _MAX_PLANS:
        # Classes and names that are used are planned again soon.
        _plans.clear()
    _plans[model_class, kind, layout] = plan
    return plan


def _are_same(some: dict[str, Any] | None, others: dict[str, Any] | None) -> bool:
    # Comparing properties by == makes filters of queries.
    if some is None or others is None:
        return some is others
    return some.keys() == others.keys() and all(prop is others[name] for name, prop in some.items())


def entity_to_ds_entity(instance: Any, set_key: bool, otherwise: _Original) -> Any:
    """Make the entity of a model, with what was never read as it came.

    Args:
        instance: a model.
        set_key: whether the entity gets the key of the model.
        otherwise: ndb's own ``_entity_to_ds_entity``.

    Raises:
        As ``otherwise``.
        google.protobuf.message.DecodeError, ValueError: if a property cannot be decoded.
    """
    values = instance._values
    if type(values) is not LazyValues:
        return otherwise(instance, set_key)
    source = values._entity
    # Of what was changed in the entity itself, its bytes are out of date.
    untouched = set(source._undecoded())
    properties = values._properties
    unread = [
        name
        for name in values._undecoded()
        if name in values._spliced
        and name in untouched
        and not properties[name]._required
        and _is_plain(properties[name], _WRITING)
    ]
    excluded, meanings = source._wire_excluded(unread), source._wire_meanings(unread)
    kept = {
        name
        for name in unread
        if name not in meanings and (name in excluded) is not bool(properties[name]._indexed)
    }
    if not kept:
        return otherwise(instance, set_key)
    # What follows is ndb's _entity_to_ds_entity().
    data: dict[str, Any] = {"_exclude_from_indexes": []}
    uninitialized = []
    spliced = set()
    for prop in model._properties_of(instance):
        if prop._name in kept and prop is properties[prop._name]:
            spliced.add(prop._name)
            continue
        if not prop._is_initialized(instance):
            uninitialized.append(prop._name)
        prop._to_datastore(instance, data)
    if uninitialized:
        raise BadValueError(f"Entity has uninitialized properties: {', '.join(uninitialized)}")
    new_exclusions = data.pop("_exclude_from_indexes")
    new_meanings = data.pop("_meanings", None)
    entity: Any = LazyEntity.from_bytes(source._raw)
    for name in entity.keys() - spliced:
        del entity[name]
    entity.exclude_from_indexes = (spliced & excluded).union(new_exclusions)
    entity._meanings = {} if new_meanings is None else new_meanings
    entity.key = None
    if set_key:
        key = instance._key
        entity.key = (key_module.Key(instance._get_kind(), None) if key is None else key)._key
    entity.update(data)
    return entity


def entity_from_ds_entity(ds_entity: Any, model_class: Any, otherwise: _Original) -> Any:
    """Make a model of an entity.

    Args:
        ds_entity: a lazy or a stock entity.
        model_class: a subclass of ``ndb.Model``; None for that of the entity's kind.
        otherwise: ndb's own ``_entity_from_ds_entity``.

    Raises:
        What ndb raises when it makes a model without properties.
        google.protobuf.message.DecodeError, ValueError: if the key cannot be decoded.
    """
    if (
        type(ds_entity) is LazyEntity
        and ds_entity.keys() == ds_entity._layout.ordinals.keys()
        and len(ds_entity._undecoded()) == len(ds_entity)
        and "_meanings" not in ds_entity._instance_dict()
    ):
        # Whatever becomes of the entity, the model has what it was made of.
        own = LazyEntity.from_bytes(ds_entity._raw)
        return _model(own, ds_entity.key, ds_entity, model_class, otherwise)
    return otherwise(ds_entity, model_class)


def entity_from_protobuf(
    original: _Original, is_active: Callable[[], bool], conversion: Seam
) -> _Original:
    """Return what makes models where ``original``, ndb's own ``_entity_from_protobuf``, does.

    A stand-in of a lazy response or of a cached entity becomes a lazy model. A real message, as ndb
    gets those of projections, becomes a model as ndb makes it.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
        conversion: the seam of ``_entity_from_ds_entity``.
    """

    @functools.wraps(original)
    def _entity_from_protobuf(protobuf: Any) -> Any:
        if not is_active():
            return original(protobuf)
        if not issubclass(type(protobuf), EntityHandle):
            with eager():
                return original(protobuf)
        entity = protobuf.to_entity()
        if type(entity) is LazyEntity and conversion.stands(model._entity_from_ds_entity):
            return _model(entity, entity._wire_key(), entity, None, conversion.original)
        # Somebody else's function stands there, or the call was sent inside of eager().
        return model._entity_from_ds_entity(entity)

    return _entity_from_protobuf


def _model(entity: Any, ds_key: Any, given: Any, model_class: Any, otherwise: _Original) -> Any:
    # Key.kind copies the whole path first.
    kind_of_key = ds_key._path[-1]["kind"] if ds_key else None
    class_key = entity.get("class")
    if not class_key:
        kind = kind_of_key
    elif isinstance(class_key, list):
        kind = class_key[-1]
    else:
        kind = class_key
    if type(kind) is not str and kind is not None:
        return otherwise(given, model_class)
    chosen = model_class or _Model._lookup_model(kind)
    plan = _plans.get((chosen, kind, entity._layout))
    if (
        plan is None
        or plan.known_count != len(chosen._properties)
        or plan.version == 0
        or plan.version != type_version(chosen)
        or (plan.subclass is not None and not plan.has_subclass(kind))
    ):
        try:
            plan = _new_plan(chosen, kind, entity._layout)
        except model.KindError:
            # Nobody knows the properties that the class has not. ndb looks at the key first.
            return otherwise(given, model_class)
    if plan.properties is None:
        return otherwise(given, model_class)
    values = _new_values(LazyValues)
    values._entity = entity
    values._properties = plan.properties
    values._conversions = plan.conversions
    values._spliced = plan.spliced
    if plan.constructs_plainly and chosen.__init__ is _model_init:
        instance = _new(chosen)
    else:
        instance = chosen()
        _fill(values, instance._values)
    _fill(values, plan.template)
    instance._values = values
    if ds_key:
        # As Key._from_ds_key() makes it.
        key = _new(key_module.Key)
        key._key = ds_key
        key._reference = None
        if plan.takes_keys_of_its_kind and kind_of_key == chosen._get_kind():
            instance._entity_key = key
        else:
            instance._key = key
    return instance
