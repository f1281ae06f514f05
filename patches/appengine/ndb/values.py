"""The values of a lazy model."""

from __future__ import annotations

from typing import Any

from google.appengine.datastore.entity_bytes_pb2 import EntityProto, Property, Reference
from google.appengine.ext.ndb import model
from google.appengine.ext.ndb.key import Key

from lazyentity.codec import errors
from lazyentity.codec.describing import describe_entity
from lazyentity.storage.lazyvaluedict import LazyValueDict

_BaseValue = model._BaseValue
_EMPTY_LIST = Property.EMPTY_LIST
_new = object.__new__
_parse = Property.FromString


class AppEngineValues(LazyValueDict):
    """The values of a model, by stored name: each is made of the entity when it is first asked for.

    A property that fails raises the error that making the model would have raised, at every read of
    that one property.
    """

    __slots__ = ("_index", "_mapping", "_model_class")

    _index: Any
    """The index of the entity."""
    _mapping: Any
    """The mapping by which the model was made."""
    _model_class: Any

    def _compute(self, name: Any) -> Any:
        try:
            return self._base_value(name)
        except Exception as error:
            errors.note_value(error, name, self._described)
            raise

    def _described(self) -> str:
        return describe_entity(self._known_key)

    def _known_key(self) -> Any:
        reference = Reference.FromString(self._index.key() or b"")
        return Key(reference=reference) if reference.path.element else None

    def _base_value(self, name: bytes) -> Any:
        mapping = self._mapping
        reading = mapping.readings.get(name)
        if reading is None:
            return self._deserialized(name)
        prop = reading.prop
        if reading.kind is not None:
            value = self._index.contents(reading.name, _EMPTY_LIST)
            if value is None:
                return None
            if type(value) is reading.kind:
                return _BaseValue(value if reading.make is None else reading.make(value))
        properties = self._index.properties(reading.name)
        if len(properties) > 1:
            return self._deserialized(name)
        # As ndb's own _deserialize().
        message = _parse(properties[0])
        if message.meaning == _EMPTY_LIST:
            return []
        value = prop._db_get_value(message.value, message)
        return None if value is None else _BaseValue(value)

    def _deserialized(self, name: bytes) -> Any:
        mapping = self._mapping
        names = mapping.names.get(name)
        if names is None:
            # Code that bypasses the methods put the sentinel there.
            raise errors.undecoded_value(name, self._described())
        prop = mapping.declared[name]
        # ndb sees a model that has nothing but the values of this property.
        model_made = _new(self._model_class)
        values: dict[bytes, Any] = {}
        vars(model_made)["_values"] = values
        for message in self._messages(names):
            prop._deserialize(model_made, message)
        return values[prop._name]

    def _messages(self, names: tuple[str, ...]) -> Any:
        if len(names) == 1:
            return map(_parse, self._index.properties(names[0]))
        # In the order of the entity: ndb counts the parts of a structured property.
        entity = EntityProto()
        entity.MergeFromString(self._index.raw)
        wanted = frozenset(names)
        properties = (*entity.property, *entity.raw_property)
        return [message for message in properties if message.name in wanted]


def user_value(values: AppEngineValues, reading: Any) -> Any:
    """Make the user's value of a property that was not read before; the values stay as they are.

    Args:
        values: of the model.
        reading: of the property, in the mapping of the model.
    """
    base = values._compute(reading.prop._name)
    if type(base) is not _BaseValue:
        return base
    value = base.b_val
    try:
        for convert in reading.conversions:
            converted = convert(reading.prop, value)
            if converted is not None:
                value = converted
    except Exception as error:
        errors.note_value(error, reading.name, values._described)
        raise
    return value
