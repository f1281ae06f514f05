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
from typing import TYPE_CHECKING, Any

from google.cloud.datastore.key import Key
from google.cloud.ndb import model
from google.cloud.ndb.context import get_context

from lazyentity._mode import eager
from lazyentity.codec import errors
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.entity import LazyEntity
from lazyentity.patches.api.responses import EntityHandle
from lazyentity.patches.ndb.mappings import ModelMapping, mapping_for, named_kind, ndb_key
from lazyentity.patches.ndb.seams import CLIENT, CONVERSION
from lazyentity.patches.ndb.structured import Dotted
from lazyentity.profiling import observer
from lazyentity.readers import LAZY, STOCK
from lazyentity.storage.lazyvaluedict import LazyValueDict

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts

_Original = Callable[..., Any]

_Model = model.Model
_base_value = model._BaseValue
_blob_from_datastore = model.BlobProperty._from_datastore
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

    __slots__ = ("_dotted", "_entity", "_mapping")

    _entity: Any
    """The lazy entity."""
    _dotted: Dotted | None
    """Makes the structured properties that the entity has under dotted names, if it has any."""
    _mapping: ModelMapping
    """The mapping by which the model was made."""

    def _compute(self, name: Any) -> Any:
        # As ndb's _entity_from_ds_entity(), for one property.
        prop = self._mapping.properties.get(name)
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

    @functools.wraps(original)
    def __get__(self: Any, entity: Any, unused_cls: Any = None) -> Any:  # noqa: N807  # its name
        if entity is None:
            return original(self, entity, unused_cls)
        try:
            values = entity._values
        except AttributeError:
            # A property may serve a class that is no model.
            return original(self, entity, unused_cls)
        if type(values) is LazyValues:
            # This is all that ndb's own methods do for a value that was not read before.
            name = self._name
            known, conversions, kept_type = values._mapping.conversions.get(name, _NO_CONVERSION)
            if known is self and not entity._projection and _found(values, name) is UNDECODED:
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
        and CLIENT.is_intact()
    ):
        key = ds_entity.key
        if key is None or type(key) is Key:
            # The model keeps the bytes, even if the entity is changed.
            source = LazyEntity._from_raw(ds_entity._raw)
            return _made(original, ds_entity, source, key, model_class)
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
        if type(entity) is LazyEntity:
            return _made(CONVERSION.original, entity, entity, ds_key or entity._wire_key(), None)
        return model._entity_from_ds_entity(entity)

    return _entity_from_protobuf


def _eager_model(protobuf: Any) -> Any:
    """Make the model that ndb makes, of an entity that is decoded faster."""
    stock = protobuf.read(STOCK)
    chosen = _Model._kind_map.get(stock.kind)
    # ndb is as fast where it does not make properties.
    if chosen is not None and issubclass(chosen, model.Expando) and protobuf._made() is None:
        entity = LazyEntity._from_raw(protobuf.raw)
        mapping = _mapping(entity, _kind_of(stock.key), None)
        if mapping is not None and mapping.dynamic is not None and not mapping.parts:
            instance = _lazy_model(mapping, entity, stock.key, None)
            _make_eager(instance, stock)
            return instance
    return model._entity_from_ds_entity(stock)


def _make_eager(instance: Any, stock: Any) -> None:
    """Give a lazy model the plain dicts that ndb gives it."""
    taken = instance._values
    declared = taken._mapping.properties
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


def _kind_of(ds_key: Any) -> Any:
    # Key.kind copies the whole path first.
    return ds_key._path[-1]["kind"] if ds_key else None


def _made(original: _Original, given: Any, entity: Any, ds_key: Any, model_class: Any) -> Any:
    """Make a lazy model, or let ndb make one.

    Args:
        original: ndb's own ``_entity_from_ds_entity``.
        given: the entity for ndb.
        entity: the lazy entity that a lazy model keeps.
        ds_key: its key, of google-cloud-datastore.
        model_class: as of :func:`entity_from_ds_entity`.
    """
    mapping = _mapping(entity, _kind_of(ds_key), model_class)
    dotted = None
    if mapping is not None and mapping.parts:
        context = get_context(False)
        if context is None:
            # ndb raises.
            mapping = None
        else:
            dotted = Dotted(mapping.parts, context)
    if mapping is None:
        made = original(given, model_class)
    else:
        made = _lazy_model(mapping, entity, ds_key, dotted)
    if observer.data is not None:
        _count_model(entity)
    return made


def _mapping(entity: Any, kind_of_key: Any, model_class: Any) -> ModelMapping | None:
    """Return the mapping for a lazy model of an entity; None, if ndb has to make the model."""
    class_key = entity.get("class")
    kind = named_kind(class_key) if class_key else kind_of_key
    if type(kind) is not str and kind is not None:
        return None
    try:
        mapping = mapping_for(model_class or _Model._lookup_model(kind), kind, entity._shape)
    except model.KindError:
        # The class lacks a property and the kind is unknown. ndb looks at the key first.
        return None
    if mapping.properties is None:
        return None
    if mapping.dynamic is not None and not mapping.is_constructed_empty:
        # The constructor may have made dynamic properties.
        return None
    return mapping


def _lazy_model(mapping: ModelMapping, entity: Any, ds_key: Any, dotted: Dotted | None) -> Any:
    chosen = mapping.model_class
    values = _new_values(LazyValues)
    values._entity = entity
    values._mapping = mapping
    values._dotted = dotted
    template, properties = mapping.template, None
    if mapping.is_constructed_empty:
        instance = _new(chosen)
        if mapping.dynamic is not None:
            template, properties = mapping.dynamic.values_and_properties(entity)
    else:
        instance = chosen()
        _fill(values, instance._values)
        if dotted is not None:
            template = {**template, **dotted.completing(instance, values)}
    _fill(values, template)
    instance._values = values
    if ds_key:
        key = ndb_key(ds_key)
        if mapping.takes_keys_of_its_kind and _kind_of(ds_key) == chosen._get_kind():
            instance._entity_key = key
        else:
            instance._key = key
    if properties is not None:
        # As ndb, which sets them last.
        instance._properties = properties
    return instance


def _count_model(entity: Any) -> None:
    """Count, for a profile, an entity of which a model was just made."""
    entity_counts: EntityCounts | None = entity._entity_counts
    if entity_counts is not None:
        entity_counts.without_options += 1
