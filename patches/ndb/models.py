"""Models of google-cloud-ndb whose values are made of the entity's bytes when they are read.

A model keeps its values in the dict ``_values``, by the names that they are stored under; a model
that is read from an entity gets a :class:`LazyValues` there. All that models and properties do with
it (validators, hooks, user values, comparison, writing) is ndb's own, and finds the base values
that ndb would have put there when it made the model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from google.cloud.datastore.key import Key
from google.cloud.ndb import model
from google.cloud.ndb.context import get_context

from lazyentity._mode import eager
from lazyentity.codec import errors
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.entity import LazyEntity
from lazyentity.patches.api.entities import EntityHandle
from lazyentity.patches.ndb.mappings import ModelMapping, mapping_for, named_kind, ndb_key
from lazyentity.patches.ndb.profiling import count_model
from lazyentity.patches.ndb.seams import CLIENT, CONVERSION, MESSAGE_CONVERSION
from lazyentity.patches.ndb.structured import Dotted
from lazyentity.patches.ndb.upstream import upstream_function
from lazyentity.patches.upstream import is_upstream
from lazyentity.profiling import observer
from lazyentity.readers import LAZY, STOCK
from lazyentity.storage.lazyvaluedict import LazyValueDict

_Original = Callable[..., Any]

_Model = model.Model
_base_value = model._BaseValue
_get_kind = upstream_function(_Model, "_get_kind")
_lookup_model = upstream_function(_Model, "_lookup_model")
_blob_from_datastore = upstream_function(model.BlobProperty, "_from_datastore")
_new = object.__new__
_new_values: Any = LazyValueDict.__new__
_found = dict.get
_store = dict.__setitem__
_fill = dict.update


class LazyValues(LazyValueDict):
    """The values of a model: each is made of the entity's property when it is first asked for.

    A property that fails raises the error that making the model would have raised, at every read of
    that one property.
    """

    __slots__ = ("_conversions", "_dotted", "_entity", "_properties")

    _entity: Any
    """The lazy entity."""
    _dotted: Dotted | None
    """Makes the structured properties that the entity has under dotted names, if it has any."""
    _properties: Any
    _conversions: Any
    """Both as in :class:`~lazyentity.patches.ndb.mappings.ModelMapping`."""

    def _compute(self, name: Any) -> Any:
        # As ndb's _entity_from_ds_entity(), for one property.
        prop = self._properties.get(name)
        dotted = self._dotted
        if dotted is not None and name in dotted.parts:
            return dotted.made(prop, self._entity)
        try:
            value = self._entity[name]
        except KeyError:
            # Code that bypasses the methods put the sentinel there.
            raise errors.undecoded_property(name, self._entity._raw) from None
        try:
            value = _wrapped(prop, value)
            if prop is None:
                # It is dynamic.
                return value
            return prop._from_datastore(self._source_of(name, prop), value)
        except Exception as error:
            errors.note_property(error, name, self._entity._raw)
            raise

    def _source_of(self, name: Any, prop: Any) -> Any:
        # Reading _meanings of the entity would decode every property that has one.
        if type(prop)._from_datastore is _blob_from_datastore:
            return SimpleNamespace(_meanings=self._entity._wire_meanings((name,)))
        return self._entity


def _wrapped(prop: Any, value: Any) -> Any:
    """Return the base value of an entity's value; ``prop`` is None for a dynamic property."""
    if value is None:
        return None
    if isinstance(value, list) and (prop is None or prop._repeated):
        return [None if item is None else _base_value(item) for item in value]
    if prop is None or not prop._repeated:
        return _base_value(value)
    # Of a projection query.
    return [_base_value(value)]


def property_get(original: _Original, _is_active: Callable[[], bool]) -> _Original:
    """Replace ``original``, the method of the descriptor that reads the value of a property.

    A lazy model gives the same value, whether ndb is still patched or not.
    """
    reads_plainly = is_upstream(original, model)

    @functools.wraps(original)
    def __get__(self: Any, entity: Any, unused_cls: Any = None) -> Any:  # noqa: N807  # its name
        if entity is None:
            return original(self, entity, unused_cls)
        try:
            values = entity._values
        except AttributeError:
            # A property may serve a class that is no model.
            return original(self, entity, unused_cls)
        if type(values) is LazyValues and reads_plainly:
            # This is all that ndb's own methods do for a value that was not read before.
            name = self._name
            known, conversions, kept_type = values._conversions.get(name, _NO_CONVERSION)
            if known is self and _found(values, name) is UNDECODED and not entity._projection:
                value = values._entity[name]
                kind = type(value)
                if kind is not list:
                    if kind is not kept_type and value is not None:
                        for convert in conversions:
                            converted = convert(self, value)
                            if converted is not None:
                                value = converted
                    _store(values, name, value)
                    return value
        return original(self, entity, unused_cls)

    return __get__


_NO_CONVERSION = (None, (), None)


def entity_from_ds_entity(original: _Original, ds_entity: Any, model_class: Any = None) -> Any:
    """Make a model of an entity.

    Args:
        original: ndb's own ``_entity_from_ds_entity``.
        ds_entity: a lazy or a stock entity.
        model_class: a subclass of ``ndb.Model``; None for that of the entity's kind.

    Raises:
        As ndb, when it makes a model without properties.
        google.protobuf.message.DecodeError, ValueError: if the key cannot be decoded.
    """
    if (
        type(ds_entity) is LazyEntity
        and ds_entity.keys() == ds_entity._shape.ordinals.keys()
        and len(ds_entity._undecoded()) == len(ds_entity)
        and "_meanings" not in ds_entity._instance_dict()
    ):
        key = ds_entity.key
        if key is None or type(key) is Key:
            # The model keeps the bytes, even if the entity is changed.
            source = LazyEntity._from_raw(ds_entity._raw)
            plan = _plan(source, key, model_class)
            made = original(ds_entity, model_class) if plan is None else _made(plan, source, key)
            if observer.data is not None:
                count_model(made, source)
            return made
    return original(ds_entity, model_class)


def entity_from_protobuf(original: _Original, is_active: Callable[[], bool]) -> _Original:
    """Replace ndb's own ``_entity_from_protobuf``, which makes models.

    A proxy of an entity, of a response or of the cache, becomes a lazy model, for which its key may
    be given. A real message, as ndb gets it for a projection, becomes a model as ndb makes it.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """

    @functools.wraps(original)
    def _entity_from_protobuf(protobuf: Any, ds_key: Any = None) -> Any:
        if not is_active():
            return original(protobuf)
        if not issubclass(type(protobuf), EntityHandle):
            with eager():
                return original(protobuf)
        if CLIENT.patch.eager or protobuf.rpc.reader is STOCK:
            return _eager_model(protobuf)
        entity = protobuf.read(LAZY)
        if type(entity) is LazyEntity and model._entity_from_ds_entity is CONVERSION.replacement:
            key = ds_key or entity._wire_key()
            plan = _plan(entity, key, None)
            made = CONVERSION.original(entity) if plan is None else _made(plan, entity, key)
            if observer.data is not None:
                count_model(made, entity)
            return made
        # Somebody else's function stands there.
        return model._entity_from_ds_entity(entity)

    return _entity_from_protobuf


def _eager_model(protobuf: Any) -> Any:
    """Make the model that ndb makes, of an entity that is decoded faster."""
    stock = protobuf.read(STOCK)
    chosen = _Model._kind_map.get(stock.kind)
    plan = None
    if (
        chosen is not None
        and issubclass(chosen, model.Expando)
        and protobuf._made() is None
        and model._entity_from_ds_entity is CONVERSION.replacement
    ):
        entity = LazyEntity._from_raw(protobuf.raw)
        plan = _plan(entity, stock.key, None)
    if plan is not None:
        _, mapping, _, _ = plan
        # ndb is as fast where it does not make properties.
        if mapping.dynamic is not None and not mapping.parts:
            instance = _made(plan, entity, stock.key)
            _settle(instance, stock)
            return instance
    return model._entity_from_ds_entity(stock)


def _settle(instance: Any, stock: Any) -> None:
    """Give a lazy model the plain dicts that ndb gives it."""
    taken = instance._values
    declared = taken._properties
    values = {}
    # In the order of the stock entity, which need not be that of its bytes.
    for name, value in stock.items():
        if name in taken:
            prop = declared.get(name)
            base_value = _wrapped(prop, value)
            values[name] = base_value if prop is None else prop._from_datastore(stock, base_value)
    attributes = vars(instance)
    attributes["_values"] = values
    if "_properties" in attributes:
        attributes["_properties"] = attributes["_properties"].all_made(values)


_Plan = tuple[Any, ModelMapping, Dotted | None, bool]
"""How models are made of entities of a shape.

The kind of their keys, what makes values, and whether no constructor is called: another thread that
finds the class changed changes the mapping.

No class, for that would call two more functions for each model that is not of a response.
"""


def _plan(entity: Any, ds_key: Any, model_class: Any) -> _Plan | None:
    """Return the plan for a model of an entity; None, if ndb has to make the model.

    Args:
        entity: the lazy entity that the model keeps.
        ds_key: its key, of google-cloud-datastore.
        model_class: as of :func:`entity_from_ds_entity`.
    """
    # Key.kind copies the whole path first.
    kind_of_key = ds_key._path[-1]["kind"] if ds_key else None
    class_key = entity.get("class")
    kind = named_kind(class_key) if class_key else kind_of_key
    if type(kind) is not str and kind is not None:
        return None
    try:
        mapping = mapping_for(model_class or _Model._lookup_model(kind), kind, entity._shape)
    except model.KindError:
        # The class lacks a property and the kind is unknown. ndb looks at the key first.
        return None
    is_plain = mapping.constructs_plainly
    if mapping.properties is None or not (is_plain or mapping.dynamic is None):
        # The constructor may have made dynamic properties.
        return None
    dotted = None
    if mapping.parts:
        context = get_context(False)
        if context is None:
            # ndb raises.
            return None
        dotted = Dotted(mapping.parts, context)
    return kind_of_key, mapping, dotted, is_plain


def _calls_application(plan: _Plan, entity: Any) -> bool:
    """Whether making such a model may call code of the application."""
    kind, mapping, _, is_plain = plan
    chosen = mapping.model_class
    return not (
        is_plain
        and mapping.takes_keys_of_its_kind
        and chosen.key is _Model.key
        and is_upstream(chosen._get_kind, _get_kind)
        and kind == chosen._get_kind()
        and "class" not in entity._shape.ordinals
    )


def _made(plan: _Plan, entity: Any, ds_key: Any, *, has_its_kind: bool = False) -> Any:
    """Make the model; ``has_its_kind`` is whether the key is of the class's kind for sure."""
    kind, mapping, dotted, is_plain = plan
    chosen = mapping.model_class
    values = _new_values(LazyValues)
    values._entity = entity
    values._properties = mapping.properties
    values._conversions = mapping.conversions
    values._dotted = dotted
    template, properties = mapping.template, None
    if is_plain:
        instance = _new(chosen)
        if mapping.dynamic is not None:
            template, properties = mapping.dynamic.of(entity)
    else:
        instance = chosen()
        _fill(values, instance._values)
        if dotted is not None:
            template = {**template, **dotted.completing(instance, values)}
    _fill(values, template)
    instance._values = values
    if ds_key:
        key = ndb_key(ds_key)
        if has_its_kind or (mapping.takes_keys_of_its_kind and kind == chosen._get_kind()):
            instance._entity_key = key
        else:
            instance._key = key
    if properties is not None:
        # As ndb, which sets them last.
        instance._properties = properties
    return instance


class ModelMaker:
    """Makes models of a response, as long as no code of the application runs in between.

    The classes of the models are looked at once for each shape of the entities.
    """

    def __init__(self) -> None:
        self._plans: dict[Any, _Plan] = {}

    @staticmethod
    def is_usable() -> bool:
        """Whether models are lazy, and the functions that make them are not replaced."""
        return (
            CLIENT.patch.is_lazy
            and observer.data is None
            and model._entity_from_protobuf is MESSAGE_CONVERSION.replacement
            and model._entity_from_ds_entity is CONVERSION.replacement
            and is_upstream(_Model._lookup_model, _lookup_model)
        )

    def make(self, protobuf: Any, ds_key: Any = None) -> Any:
        """Return a model; None if ndb has to make it, or code of the application is called.

        Args:
            protobuf: a proxy of an entity.
            ds_key: as of ``_entity_from_protobuf``.

        Raises:
            As ndb.
        """
        entity = protobuf.read(LAZY) if type(protobuf) is EntityHandle else None
        if type(entity) is not LazyEntity:
            return None
        key = ds_key or entity._wire_key()
        shape = entity._shape
        plan = self._plans.get(shape)
        if plan is None or not key or plan[0] != key._path[-1]["kind"]:
            plan = _plan(entity, key, None)
            if plan is None or _calls_application(plan, entity):
                return None
            self._plans[shape] = plan
        return _made(plan, entity, key, has_its_kind=True)
