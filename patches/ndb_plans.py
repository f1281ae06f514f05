"""What is known of a class of ndb's models before any of its entities is looked at.

Which of an entity's properties a model takes, and for which of them ndb's own methods, all of them,
are what reads and writes the value: those may be passed by.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

from google.cloud.ndb import model

from lazyentity._backend import type_version
from lazyentity.patches.ndb_expandos import DynamicProperties, are_same, is_dynamic
from lazyentity.undecoded import UNDECODED

_Model = model.Model
_Property = model.Property


def is_own(function: Any) -> bool:
    """Say whether a function is one of ndb's own, and not what somebody put in its place."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == model.__file__


def own(kind: Any, name: str) -> Any:
    """Return ndb's own method of a class; something else, if somebody has replaced it already."""
    method = inspect.getattr_static(kind, name)
    return method if is_own(getattr(method, "__func__", method)) else object()


_store_value = own(_Property, "_store_value")


class _Methods:
    """Some of the methods of ``ndb.Property``.

    Args:
        names: of methods that are called on an instance.
    """

    def __init__(self, *names: str) -> None:
        self._names = names
        self._own = tuple(own(_Property, name) for name in names)
        self._of = operator.attrgetter(*names)

    def are_kept_by(self, prop: Any) -> bool:
        """Say whether these are the methods of a property, and it has one value."""
        return (
            not prop._repeated
            and vars(prop).keys().isdisjoint(self._names)
            and self._of(type(prop)) == self._own
        )


# What reading a property comes down to, from the descriptor to its value. To find what converts it
# is left to ndb.
_READING = _Methods(
    "_apply_list",
    "_apply_to_values",
    "_call_from_base_type",
    "_from_datastore",
    "_get_user_value",
    "_get_value",
    "_opt_call_from_base_type",
    "_retrieve_value",
)
# What writing the value that nobody has read comes down to.
_WRITING = _Methods(
    "_apply_to_values",
    "_from_datastore",
    "_get_base_value",
    "_get_base_value_unwrapped_as_list",
    "_is_initialized",
    "_opt_call_to_base_type",
    "_retrieve_value",
    "_to_datastore",
)


def is_written_plainly(prop: Any) -> bool:
    """Say whether what writing an unread value of a property sends is what was read."""
    return not prop._required and _WRITING.are_kept_by(prop)


_KEPT = {
    own(model.BooleanProperty, "_from_base_type"): bool,
    own(model.TextProperty, "_from_base_type"): str,
}
"""What some conversions give back as it is."""


def _conversion(prop: Any) -> tuple[Any, tuple[Any, ...], type | None]:
    methods = tuple(prop._find_methods("_from_base_type", reverse=True))
    return prop, methods, _KEPT.get(methods[0]) if len(methods) == 1 else None


class Plan:
    """How models of one class are made of entities that have the same names.

    Attributes:
        properties: ndb's properties, by stored name, of all that a model takes from such an entity
            and its class defines; None, if ndb has to make the model.
        dynamic: of an ``Expando``, what else it takes; None, if that is nothing.
        template: each of these names, mapped to ``UNDECODED``.
        conversions: by stored name, of the properties that have one value and ndb's own way of
            reading it: the property, what makes the user's value of the base value, and the type
            of base values that are the user's already.
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
        "dynamic",
        "known_count",
        "properties",
        "subclass",
        "subclass_version",
        "takes_keys_of_its_kind",
        "template",
        "version",
    )

    def __init__(self, model_class: Any, kind: Any, names: Any) -> None:
        self.note_versions(model_class, kind)
        properties, dynamic_names = _properties(model_class, kind, names)
        self.properties = properties
        self.dynamic = None
        if properties is not None and dynamic_names:
            taken = tuple(name for name in names if name in properties or name in dynamic_names)
            self.dynamic = DynamicProperties(model_class, dynamic_names, taken)
        # Not by dict.fromkeys(), as in Layout.
        self.template = {name: UNDECODED for name in self.properties or ()}  # noqa: C420
        self.conversions = {
            name: _conversion(prop)
            for name, prop in (self.properties or {}).items()
            if _READING.are_kept_by(prop)
        }
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

    def takes(
        self, model_class: Any, properties: dict[str, Any] | None, dynamic_names: tuple[str, ...]
    ) -> bool:
        """Say whether a model takes these properties, and those that are dynamic, as planned."""
        if properties is None or self.properties is None:
            return properties is self.properties
        if not are_same(properties, self.properties):
            return False
        if self.dynamic is None:
            return not dynamic_names
        return self.dynamic.are_those_of(model_class, dynamic_names)

    def has_subclass(self, kind: Any) -> bool:
        """Say whether the class that is asked for further properties is as it was."""
        return (
            self.subclass is _Model._kind_map.get(kind)
            and self.subclass_version != 0
            and type_version(self.subclass) == self.subclass_version
        )


_Properties = tuple[dict[str, Any] | None, tuple[str, ...]]
_FOR_NDB_TO_SAY: _Properties = None, ()


def _properties(model_class: Any, kind: Any, names: Any) -> _Properties:
    """Return what a model takes from an entity that has ``names``.

    Returns:
        The properties that are defined, None if ndb has to say; the names of those that are not.
    """
    properties: dict[str, Any] = {}
    dynamic = []
    for stored_name in names:
        name = model_class._code_name_from_stored_name(stored_name)
        prop = getattr(model_class, name, None)
        if prop is None:
            if "." in name:
                supername = model_class._code_name_from_stored_name(name.partition(".")[0])
                if isinstance(getattr(model_class, supername, None), model.StructuredProperty):
                    # Several properties of the entity make one of the model's.
                    return _FOR_NDB_TO_SAY
            if kind is not None and kind != model_class.__name__:
                prop = getattr(_Model._lookup_model(kind), name, None)
        if not isinstance(prop, _Property):
            if issubclass(model_class, model.Expando):
                if not is_dynamic(model_class, stored_name, name):
                    return _FOR_NDB_TO_SAY
                dynamic.append(stored_name)
            continue
        if prop._name != stored_name or type(prop)._store_value is not _store_value:
            return _FOR_NDB_TO_SAY
        properties[stored_name] = prop
    return properties, tuple(dynamic)


_plans: dict[tuple[Any, Any, Any], Plan] = {}
_MAX_PLANS = 256


def plan_for(model_class: Any, kind: Any, layout: Any) -> Plan:
    """Return the plan for models of a class, made of entities of a layout, as the class is now.

    Args:
        model_class: a subclass of ``ndb.Model``.
        kind: the kind that the entity names itself, or its class in it.
        layout: that of the lazy entity.

    Raises:
        google.cloud.ndb.model.KindError: if the class lacks a property, and nobody knows the kind.
    """
    plan = _plans.get((model_class, kind, layout))
    if (
        plan is None
        or plan.known_count != len(model_class._properties)
        or plan.version == 0
        or plan.version != type_version(model_class)
        or (plan.subclass is not None and not plan.has_subclass(kind))
    ):
        plan = _renewed(plan, model_class, kind, layout)
    return plan


def _renewed(plan: Plan | None, model_class: Any, kind: Any, layout: Any) -> Plan:
    """Return the plan that there was, if it still serves; else another."""
    if plan is not None:
        plan.note_versions(model_class, kind)
        if plan.takes(model_class, *_properties(model_class, kind, layout.ordinals)):
            return plan
    plan = Plan(model_class, kind, layout.ordinals)
    if len(_plans) >= _MAX_PLANS:
        # Classes and names that are used are planned again soon.
        _plans.clear()
    _plans[model_class, kind, layout] = plan
    return plan
