"""Models of ndb whose values are made of the entity's bytes when they are read.

A model keeps its values in the dict ``_values``, by the bytes of their stored names; a model that
is read from an entity gets an instance of
:class:`~lazyentity.patches.appengine.ndb.values.AppEngineValues` there.
All that models and properties do with it (validators, hooks, user values, comparison) is ndb's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.datastore.entity_bytes_pb2 import Property
from google.appengine.ext.ndb import model, polymodel
from google.appengine.ext.ndb.key import Key

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.guarding import is_intact
from lazyentity.patches.appengine.messages import (
    INDEX_VALUE,
    EntityProto,
    Reference,
    index_of,
)
from lazyentity.patches.appengine.ndb.mappings import mapping_for
from lazyentity.patches.appengine.ndb.seams import PART
from lazyentity.patches.appengine.ndb.values import AppEngineValues, user_value
from lazyentity.patches.appengine.profiling import counted

_Function = Callable[..., Any]

_EMPTY_LIST = Property.EMPTY_LIST

_BaseValue = model._BaseValue
_ModelKey = model.ModelKey
_new = object.__new__
_new_values: Any = AppEngineValues.__new__
_found = dict.get
_store = dict.__setitem__
_fill = dict.update


def property_get(original: _Function, _is_active: Callable[[], bool]) -> _Function:
    """Replace ``original``, the method of the descriptor that reads the value of a property.

    A lazy model gives the same value, whether ndb is still patched or not.
    """

    @functools.wraps(original)
    def __get__(self: Any, entity: Any, unused_cls: Any = None) -> Any:  # noqa: N807  # its name
        if type(self) is _ModelKey and entity is not None:
            # ndb itself reads keys often; they are not among the values.
            return self._get_value(entity)
        try:
            values = entity._values
        except AttributeError:
            return original(self, entity, unused_cls)
        if type(values) is not AppEngineValues:
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


def key_hash(original: _Function, _is_active: Callable[[], bool]) -> _Function:
    """Replace ``Key.__hash__``: ndb hashes a key five times to read it, and decodes it each time.

    The hashes are ndb's: the application may have dicts of keys from before.
    """
    if PART.guard.foreign():
        return original
    pairs, bytes2str = Key.pairs, Key._bytes2str

    @functools.lru_cache(maxsize=4096)
    def hash_of(parts: Any) -> int:
        return hash(tuple(tuple(bytes2str(None, part) for part in pair) for pair in parts))

    @functools.wraps(original)
    def __hash__(self: Any) -> Any:  # noqa: N807  # its name
        if type(self) is Key and Key.pairs is pairs and Key._bytes2str is bytes2str:
            return hash_of(self._Key__pairs)
        return original(self)

    return __hash__


def from_pb(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``Model._from_pb``, the class method that makes a model of an entity.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """
    convert = original.__func__

    @functools.wraps(convert)
    def _from_pb(cls: Any, pb: Any, set_key: Any = True, ent: Any = None, key: Any = None) -> Any:
        made = None
        index = _lazily(pb) if is_active() else None
        if index is not None:
            made = _model(index, cls, pb, set_key, ent, key)
        return convert(cls, pb, set_key, ent, key) if made is None else made

    return classmethod(_from_pb)


def poly_from_pb(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``PolyModel._from_pb``, which finds the class that an entity names."""
    convert = original.__func__

    @functools.wraps(convert)
    def _from_pb(cls: Any, pb: Any, set_key: Any = True, ent: Any = None, key: Any = None) -> Any:
        index = _lazily(pb) if is_active() else None
        names = None if index is None else index.value(cls.class_._name.decode(), False)
        if type(names) is not list or not all(type(each) is bytes for each in names):
            return convert(cls, pb, set_key, ent, key)
        chosen = cls._class_map.get(tuple(names), cls)
        return super(polymodel.PolyModel, chosen)._from_pb(pb, set_key, ent, key)

    return classmethod(_from_pb)


def pb_to_entity(original: _Function, adapter: Any, pb: Any) -> Any:
    """Make a model of the entity of a response.

    Args:
        original: ndb's own method of the adapter.
        adapter: the adapter.
        pb: the entity.
    """
    key = _key_of(pb) if type(pb) is EntityProto and is_intact(PART) else None
    if key is None:
        return original(adapter, pb)
    chosen = model.Model._lookup_model(key._Key__pairs[-1][0].decode(), adapter.default_model)
    made = chosen._from_pb(pb, key=key, set_key=False)
    if adapter.want_pbs:
        made._orig_pb = pb
    return made


def _key_of(message: Any) -> Any:
    """Make the key ``Key(reference=message.key)`` without ndb's search for other arguments.

    Returns:
        None, if the reference has no path.
    """
    # A message that is a part of a response would keep the whole response alive.
    reference = Reference()
    reference.CopyFrom(message.key)
    pairs = []
    for element in reference.path.element:
        identifier = element.id if element.HasField("id") else element.name.encode()
        pairs.append((element.type.encode(), identifier or None))
    if not pairs:
        return None
    key = _new(Key)
    key._Key__reference = reference
    key._Key__app, key._Key__namespace = reference.app.encode(), reference.name_space.encode()
    key._Key__pairs = tuple(pairs)
    return key


def _lazily(pb: Any) -> Any:
    """Return the index of an entity of which a lazy model can be made; None: let ndb make it."""
    if type(pb) is not EntityProto or PART.patch.gives_stock() or not is_intact(PART):
        return None
    index = index_of(pb)
    if index is None or index.has_meaning(INDEX_VALUE):
        # A projection holds nothing that was not asked for.
        return None
    return index


def _model(index: Any, cls: Any, pb: Any, set_key: Any, ent: Any, key: Any) -> Any:
    """Make a lazy model; None, if ndb has to make it.

    Args:
        index: of the entity.
        cls: the class of the model.
        pb: the entity.
        set_key: whether the model gets an incomplete key, too.
        ent: a model to fill; None for a new one.
        key: the key; None for that of the entity.
    """
    chosen = cls if ent is None else type(ent)
    mapping = mapping_for(chosen, index)
    if not mapping.is_lazy:
        return None
    values = _new_values(AppEngineValues)
    if ent is not None or not mapping.is_constructed_empty:
        ent = cls() if ent is None else ent
        if not _can_be_filled(ent, chosen, mapping):
            return None
        _fill(values, ent._values)
    else:
        ent = _new(cls)
    values._index = counted(pb, index)
    values._mapping = mapping
    values._model_class = chosen
    _fill(values, mapping.template)
    attributes = vars(ent)
    attributes["_values"] = values
    if key is None:
        key = _key_of(pb)
    if key is not None and (set_key or key.id() or key.parent()):
        if mapping.kind is not None and mapping.kind == key._Key__pairs[-1][0]:
            attributes["_entity_key"] = key
        else:
            ent._key = key
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
