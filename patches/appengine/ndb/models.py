"""Models of ndb whose values are made of the entity's bytes when they are read.

A model keeps its values in the dict ``_values``, by the bytes of their stored names; a model that
is read from an entity gets a :class:`~lazyentity.patches.appengine.ndb.values.LazyValues` there.
All that models and properties do with it (validators, hooks, user values, comparison) is ndb's own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from google.appengine.datastore.entity_bytes_pb2 import Property
from google.appengine.ext.ndb import model, polymodel

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.messages import (
    INDEX_VALUE,
    EntityProto,
    index_of,
    property_messages,
)
from lazyentity.patches.appengine.ndb.keys import key_of
from lazyentity.patches.appengine.ndb.mappings import counter_of, mapping_for
from lazyentity.patches.appengine.ndb.orphans import properties_of
from lazyentity.patches.appengine.ndb.seams import PART
from lazyentity.patches.appengine.ndb.values import LazyValues, user_value
from lazyentity.patches.appengine.profiling import counted_index
from lazyentity.patches.upstream import is_upstream
from lazyentity.profiling import observer

_Function = Callable[..., Any]

_EMPTY_LIST = Property.EMPTY_LIST

_MAKERS: dict[Any, tuple[_Function, _Function]] = {}
"""The replacements of each ``_from_pb`` of ndb's own, and the functions that make their models."""
_NOTHING: tuple[Any, Any] = None, None
_BaseValue = model._BaseValue
_ModelKey = model.ModelKey
_new = object.__new__
_new_values: Any = LazyValues.__new__
_found = dict.get
_store = dict.__setitem__
_fill = dict.update


def property_get(original: _Function, _is_active: Callable[[], bool]) -> _Function:
    """Replace ``original``, the method of the descriptor that reads the value of a property.

    A lazy model gives the same value, whether ndb is still patched or not.
    """
    if not is_upstream(original, model):
        return original

    @functools.wraps(original)
    def __get__(self: Any, entity: Any, unused_cls: Any = None) -> Any:  # noqa: N807  # its name
        if type(self) is _ModelKey and entity is not None:
            # ndb itself reads keys often; they are not among the values.
            return self._get_value(entity)
        try:
            values = entity._values
        except AttributeError:
            return original(self, entity, unused_cls)
        if type(values) is not LazyValues:
            return original(self, entity, unused_cls)
        reading = values._mapping.reading_of.get(id(self))
        if reading is None or entity._projection:
            return original(self, entity, unused_cls)
        # From here on, this is all that ndb's own methods do.
        name = reading.stored
        value = _found(values, name)
        if value is not UNDECODED:
            if value is None or isinstance(value, _BaseValue):
                return original(self, entity, unused_cls)
            return value
        kind = reading.user_kind
        if kind is not None:
            value = values._index.take(values, name, reading.name, _EMPTY_LIST, kind)
            if value is not UNDECODED:
                return value
        value = user_value(values, reading)
        _store(values, name, value)
        return value

    return __get__


def from_pb(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``Model._from_pb``, the class method that makes a model of an entity.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """
    convert = original.__func__
    if not is_upstream(convert, model, polymodel):
        return original

    def make(index: Any, cls: Any, *args: Any) -> Any:
        return _model(index, convert, cls, *args)

    return _class_method(convert, is_active, make)


def _class_method(convert: _Function, is_active: Callable[[], bool], make: _Function) -> Any:
    """Return the replacement of a ``_from_pb``.

    Args:
        convert: the function of ndb's own.
        is_active: says whether ndb is patched.
        make: makes the model, of the index of the entity, the class and the other arguments.
    """

    @functools.wraps(convert)
    def _from_pb(cls: Any, pb: Any, set_key: Any = True, ent: Any = None, key: Any = None) -> Any:
        index = _lazily(pb) if is_active() else None
        if index is None:
            return convert(cls, pb, set_key, ent, key)
        return make(index, cls, pb, set_key, ent, key)

    _MAKERS[convert] = _from_pb, make
    return classmethod(_from_pb)


def pb_to_entity(original: _Function, adapter: Any, pb: Any) -> Any:
    """Make a model of the entity of a response.

    Args:
        original: ndb's own method of the adapter.
        adapter: the adapter.
        pb: the entity.
    """
    index = _lazily(pb)
    key = None if index is None else key_of(index, pb)
    if key is None:
        return original(adapter, pb)
    chosen = model.Model._lookup_model(key._Key__pairs[-1][0].decode(), adapter.default_model)
    method = chosen._from_pb
    # ndb's own function is the __wrapped__ of the replacement, and of other people's wrappers.
    replacement, make = _MAKERS.get(getattr(method, "__wrapped__", None), _NOTHING)
    if not is_upstream(method, replacement):
        made = method(pb, key=key, set_key=False)
    else:
        made = make(index, chosen, pb, False, None, key)
    if adapter.want_pbs:
        made._orig_pb = pb
    return made


def poly_from_pb(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``PolyModel._from_pb``, which finds the class that an entity names.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """
    convert = original.__func__
    if not is_upstream(convert, model, polymodel):
        return original
    # The replacement above, unless somebody else's function stands there.
    base_convert = model.Model.__dict__["_from_pb"].__func__
    is_ours = is_upstream(base_convert, sys.modules[__name__])

    def make(index: Any, cls: Any, *args: Any) -> Any:
        chosen = cls._class_map.get(_class_key(index, cls.class_._name.decode()), cls)
        following = super(polymodel.PolyModel, chosen)._from_pb
        if is_ours and is_upstream(following, base_convert):
            return _model(index, base_convert.__wrapped__, chosen, *args)
        return following(*args)

    return _class_method(convert, is_active, make)


def _class_key(index: Any, name: str) -> tuple[bytes, ...]:
    names = index.value(name, False)
    if type(names) is list and all(type(each) is bytes for each in names):
        return tuple(names)
    return tuple(message.value.stringValue for message in property_messages(index, name))


def _lazily(pb: Any) -> Any:
    """Return the index of an entity of which a lazy model can be made; None: let ndb make it."""
    if type(pb) is not EntityProto or PART.patch.gives_stock():
        return None
    index = index_of(pb)
    if index is None or index.has_meaning(INDEX_VALUE):
        # A projection holds nothing that was not asked for.
        return None
    return index


def _model(
    index: Any, convert: _Function, cls: Any, pb: Any, set_key: Any, ent: Any, key: Any
) -> Any:
    """Make a lazy model, or let ndb make one.

    Args:
        index: of the entity.
        convert: the function of ndb's own ``_from_pb``; its arguments follow.
        cls: the class of the model.
        pb: the entity.
        set_key: whether the model gets an incomplete key, too.
        ent: a model to fill; None for a new one.
        key: the key; None for that of the entity.
    """
    chosen = cls if ent is None else type(ent)
    mapping = mapping_for(chosen, index)
    if not mapping.is_lazy:
        return convert(cls, pb, set_key, ent, key)
    values = _new_values(LazyValues)
    if ent is not None or not mapping.constructs_plainly:
        ent = cls() if ent is None else ent
        if not _can_be_filled(ent, chosen, mapping):
            return convert(cls, pb, set_key, ent, key)
        _fill(values, ent._values)
    else:
        ent = _new(cls)
    values._index = index if observer.data is None else counted_index(pb, index) or index
    values._key = None
    values._mapping = mapping
    values._model_class = chosen
    values._orphans = None
    _fill(values, mapping.template)
    attributes = vars(ent)
    attributes["_values"] = values
    if key is None:
        key = key_of(index, pb)
    if key is not None and (set_key or key.id() or key.parent()):
        if mapping.kind is not None and mapping.kind == key._Key__pairs[-1][0]:
            attributes["_entity_key"] = key
        else:
            ent._key = key
    if mapping.properties is not None:
        attributes["_properties"] = values._orphans = properties_of(index, mapping.properties)
    if mapping.counted:
        attributes["_subentity_counter"] = counter_of(mapping.counted)
    attributes["_projection"] = ()
    return ent


def _can_be_filled(ent: Any, chosen: Any, mapping: Any) -> bool:
    """Say whether a model holds only the attributes that the constructor sets."""
    return (
        type(ent) is chosen
        and type(ent._values) is dict
        and ent._properties is chosen._properties
        and ent._values.keys().isdisjoint(mapping.template)
    )
