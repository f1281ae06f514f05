"""The lazy entity of ``google.appengine.api.datastore``."""

from __future__ import annotations

import functools
from typing import Any

from google.appengine.api import datastore, datastore_errors, datastore_types, users
from google.protobuf.message import DecodeError

from lazyentity.codec import errors
from lazyentity.codec.describing import describe_entity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.entity import GetState, WireAttribute, reconstruct
from lazyentity.native.backend import PropertyIndex
from lazyentity.patches.appengine.messages import (
    INDEX_VALUE,
    EntityProto,
    Reference,
    property_messages,
)
from lazyentity.storage.lazyvaluedict import LazyValueDict, keep

Entity: Any = datastore.Entity

# Bound before anything is patched: lazy entities are made for the stock function.
_stock_from_pb = Entity._FromPb
_instance_dict = Entity.__dict__["__dict__"].__get__
_set_instance_dict = Entity.__dict__["__dict__"].__set__
_new: Any = LazyValueDict.__new__
_new_plain: Any = dict.__new__
_put_all: Any = dict.update
_stored = dict.__getitem__

_KEY = "_Entity__key"
_UNINDEXED = "_Entity__unindexed_properties"
_PROJECTION = "_Entity__projection"

_NOTHING: frozenset[str] = frozenset()

CONVERSION_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
    *(DecodeError, datastore_errors.Error, users.Error),
)
"""What the client's functions raise for a value, a name or a key that is none. Its own error, which
names the property, comes of the whole conversion."""

_ALWAYS_VALID = {
    kind
    for kind, validate in datastore_types._VALIDATE_PROPERTY_VALUES.items()
    if validate is datastore_types.ValidatePropertyNothing
} | {int}
"""The classes whose values the client never refuses, if they come from a message."""


@functools.lru_cache(maxsize=4096)
def _is_valid_name(name: str) -> bool:
    try:
        datastore_types.ValidateReadProperty(name, None)
    except datastore_errors.Error:
        return False
    return True


class LazyEntity(LazyValueDict, Entity):  # type: ignore[misc]  # upstream is untyped
    """A ``datastore.Entity`` that decodes a property when it is first read.

    Every operation gives the result of a stock entity. The key, the names of the unindexed
    properties and whether the entity is a projection are found in the bytes when they are asked
    for. Copies and pickles are stock entities with everything decoded.

    Any number of threads may read the same entity, and all get the same value of a property.

    Attributes:
        _index: the index of the received bytes.
        _originals: the values that were made of them, whatever was assigned since; values that
            cannot change may be missing.
    """

    __slots__ = ("_index", "_originals")

    _index: Any
    _originals: dict[Any, Any]

    _deleted_attributes = _NOTHING
    _plain_type = Entity

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Called like ``Entity``, the class makes an ordinary entity."""
        return cls._of(PropertyIndex.from_bytes(b""))

    @classmethod
    def _of(cls, index: Any) -> Any:
        """Make an entity of an index, without running ``__init__``."""
        entity = _new(cls)
        entity._index = index
        entity._originals = {}
        # While no other thread has the entity: two threads at once would each make a dict.
        _instance_dict(entity)
        index.fill(entity)
        return entity

    # Attributes of Entity, whose private names are mangled.

    _Entity__key = WireAttribute("_wire_key")
    _Entity__unindexed_properties = WireAttribute("_wire_unindexed")

    @property
    def _Entity__projection(self) -> bool:  # noqa: N802  # its name
        # A detached entity has the attribute, perhaps without any property.
        return _PROJECTION in self._instance_dict() or bool(self._index.has_meaning(INDEX_VALUE))

    @property
    def __dict__(self) -> dict[str, Any]:
        # In the order in which Entity sets them.
        for name in (_UNINDEXED, _KEY):
            getattr(self, name)
        attributes = self._instance_dict()
        if self._Entity__projection:
            attributes.setdefault(_PROJECTION, True)
        return attributes

    @__dict__.setter
    def __dict__(self, attributes: dict[str, Any]) -> None:
        _set_instance_dict(self, attributes)

    __getstate__ = GetState()

    def _instance_dict(self) -> dict[str, Any]:
        """Return the instance dictionary without the attributes that were not asked for."""
        return _instance_dict(self)  # type: ignore[no-any-return]  # a descriptor

    def _wire_key(self) -> Any:
        return datastore_types.Key._FromPb(Reference.FromString(self._index.key()))

    def _wire_unindexed(self) -> frozenset[str]:
        return self._index.raw_names()  # type: ignore[no-any-return]  # of the backend's

    # The values.

    def __getitem__(self, name: Any, /) -> Any:
        # The hottest function: it calls as little as it can.
        value = _stored(self, name)
        if value is UNDECODED:
            if type(name) is str:
                value = self._index.take(self, name, name, None, None)
            if value is UNDECODED:
                value = self._decode(name)
        return value

    def _decode(self, name: Any, /, value: Any = UNDECODED) -> Any:
        # A given value was already made of the bytes.
        if value is UNDECODED:
            if type(name) is str:
                value = self._index.value(name, True)
                if value is UNDECODED:
                    value = self._converted(name)
            else:
                value = self._compute(name)
        # Of two threads that made a value of the same property, both get that of the first.
        return keep(self, name, self._originals.setdefault(name, value))

    def _compute(self, name: Any) -> Any:
        if type(name) is not str:
            # A dict finds a name by equality.
            name = next((known for known in self._index.names if known == name), "")
        value = self._index.value(name, True)
        return self._converted(name) if value is UNDECODED else value

    def _converted(self, name: str) -> Any:
        """Convert a property as the client does.

        Raises:
            google.appengine.api.datastore_errors.Error: as the client raises it, if it could not
                have converted the property.
            google.protobuf.message.DecodeError: if its bytes are malformed.
            TypeError: if code that bypasses the methods put the sentinel there.
        """
        try:
            messages = property_messages(self._index, name)
        except DecodeError as error:
            raise errors.undecodable_value(error, name, self._described()) from error
        if not messages:
            raise errors.undecoded_value(name, self._described())
        try:
            value = _merged(messages)
            if not (type(value) in _ALWAYS_VALID and _is_valid_name(name)):
                datastore_types.ValidateReadProperty(name, value)
        except CONVERSION_ERRORS:
            return self._converted_by_client(name)
        return value

    def _converted_by_client(self, name: str) -> Any:
        alone = EntityProto()
        alone.key.MergeFromString(self._index.key())
        alone.MergeFromString(self._index.fields((name,)))
        try:
            return _stored(_stock_from_pb(alone, require_valid_key=False), name)
        except Exception as error:
            errors.note_value(error, name, self._described)
            raise

    def _described(self) -> str:
        return describe_entity(self._wire_key)

    # Operations that Entity defines differently from dict.

    __setitem__ = Entity.__setitem__
    update = Entity.update
    copy = Entity.copy

    def setdefault(self, name: Any, value: Any) -> Any:  # type: ignore[override]  # as Entity's
        """As ``Entity.setdefault``."""
        return super().setdefault(name, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._decode_all("a copy or pickle")
        items = iter(dict.items(self))
        return reconstruct, (self._plain_type, dict, {}), vars(self), None, items

    # Writing.

    def _ToPb(self, mark_key_as_saved: Any = True) -> Any:  # noqa: N802  # its name
        """Encode the entity; properties that were never read go back as they came.

        Args:
            mark_key_as_saved: as of ``Entity._ToPb``.

        Raises:
            As ``Entity._ToPb``.
            google.protobuf.message.DecodeError: if the bytes of an unread property are malformed.
            TypeError: if code that bypasses the methods put the sentinel in place of a value.
        """
        # As the client, which takes all properties before it encodes the first one: code that runs
        # meanwhile, a time zone's or another thread's, can change the entity.
        taken = self._storage()
        unread = self._unread_as_it_came(taken)
        if not unread or self._Entity__projection:
            # The client writes values from an index in another form than it reads them.
            return Entity._ToPb(self, mark_key_as_saved)
        read = [item for item in taken.items() if item[0] not in unread]
        plain = stock_entity(self, read)
        encoded = Entity._ToPb(plain, mark_key_as_saved)
        fields = _fields_by_name(encoded)
        encoded.ClearField("property")
        encoded.ClearField("raw_property")
        # The client sorts the properties by name.
        encoded.MergeFromString(
            b"".join(
                self._index.fields((name,)) if name in unread else fields.get(name, b"")
                for name in sorted(taken)
            )
        )
        if len(encoded.property) > datastore._MAX_INDEXED_PROPERTIES:
            # The client refuses it.
            return Entity._ToPb(self, mark_key_as_saved)
        return encoded

    def _unread_as_it_came(self, taken: dict[Any, Any]) -> set[str]:
        """Return the unread properties whose bytes are still right about being indexed.

        Args:
            taken: a copy of the storage. It gets the values of the other unread properties.
        """
        unread = {name for name, value in taken.items() if value is UNDECODED}
        for name in unread.difference(self._index.names):
            raise errors.undecoded_value(name, self._described())
        attributes = self._instance_dict()
        if _UNINDEXED in attributes:
            changed = self._index.raw_names().symmetric_difference(attributes[_UNINDEXED])
            for name in unread & changed:
                if not self._is_raw_by_meaning(name):
                    taken[name] = self._decode(name)
                    unread.discard(name)
        return unread

    def _is_raw_by_meaning(self, name: str) -> bool:
        """Whether the meaning alone makes a property a raw one, indexed or not."""
        return name in self._index.raw_names() and all(
            message.meaning in datastore_types._RAW_PROPERTY_MEANINGS
            for message in property_messages(self._index, name)
        )


def _merged(messages: list[Any]) -> Any:
    """Return the value that the client makes of all properties with the same name.

    Raises:
        Exception: any, if the client refuses them.
    """
    value: Any = None
    if len(messages) == 1:
        value = datastore_types.FromPropertyPb(messages[0])
        return [value] if messages[0].multiple else value
    for message in messages:
        part = datastore_types.FromPropertyPb(message)
        if message.multiple:
            part = [part]
        if value is None:
            value = part
        elif message.multiple and isinstance(value, list):
            value.extend(part)
        else:
            raise ValueError("several values that are no list")
    return value


def stock_entity(entity: LazyEntity, items: Any) -> Any:
    """Return a stock entity with the attributes of a lazy one, and with the given properties.

    The stock entity of a detached one must not be written, either.
    """
    plain = _new_plain(entity._plain_type)
    _put_all(plain, items)
    vars(plain).update(vars(entity))
    return plain


def _fields_by_name(message: Any) -> dict[str, bytes]:
    """Return the serialised properties of an entity by their names."""
    fields: dict[str, bytes] = {}
    for kind in ("property", "raw_property"):
        for each in getattr(message, kind):
            serialised = EntityProto(**{kind: [each]}).SerializePartialToString()
            fields[each.name] = fields.get(each.name, b"") + serialised
    return fields
