"""The lazy mapping of the pure backend, which a reader may study first.

The client's own parser (upb) makes the client's own message of an entity, and the mapping keeps it.
A property is converted when it is read, by the client's own function. Writing copies unread
properties from the message.

The message takes several times the memory of its bytes, and parsing it refuses an entity with a
malformed part at once, as the client does.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Iterable
from typing import Any, NoReturn, TypeVar

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages
from lazyentity.codec.cache import MAX_BYTES, BoundedCache, learned_bytes
from lazyentity.codec.encodable import Changes, changes_of
from lazyentity.codec.undecoded import UNDECODED, UndecodedType, undecoded_template
from lazyentity.codec.values import (
    CASE_NUMBERS,
    SCALARS,
    is_excluded,
    meaning_of,
    plain_value,
    property_value,
    stock_entity,
    value_from_message,
)
from lazyentity.storage.lazydict import LazyDict
from lazyentity.storage.lazyvaluedict import keep

_Self = TypeVar("_Self", bound="LazyMapping")

# Entity's own, which the __dict__ of lazy entities shadows.
_instance_dict = Entity.__dict__["__dict__"].__get__
_set_instance_dict = Entity.__dict__["__dict__"].__set__
_new = LazyDict.__new__
_fill = dict.update
_found = dict.get
_stored = dict.__getitem__
_store = dict.__setitem__
_parse = messages.Entity.FromString
# The method of the class: looking it up on a message takes longer than calling it.
_which = messages.Value.WhichOneof


class Received:
    """A received entity, and the objects that were made of it.

    Attributes:
        message: the upb ``google.datastore.v1.Entity``. It is never changed.
        values: its properties: a ``google.datastore.v1.Value`` by name.
        originals: the values that were converted so far, whatever was assigned since. All readers
            get the same object, and the client writes a meaning back only with that object.
        policy, counts, deleted: as ``_policy``, ``_entity_counts`` and ``_deleted_attributes`` of
            :class:`~lazyentity._backend.LazyMapping`.
        is_watched: whether there is a policy, or there are counts.
        turn: one item, which is out while code reads the message; embedded entities share it, see
            :class:`Reading`.
    """

    policy: Any = None
    counts: Any = None
    deleted: frozenset[str] = frozenset()
    is_watched = False

    def __init__(self, message: Any, turn: list[None]) -> None:
        self.message = message
        self.values = message.properties
        self.originals: dict[Any, Any] = {}
        self.turn = turn


class Reading:
    """A reader's turn at a received message: gives it, or a copy in another reader's turn.

    Two readers must never meet in a message: upb then makes two objects of the same part, which
    leaves a dangling pointer in its cache. Waiting could take for ever, for the other reader may be
    the same thread: a signal handler, or a finalizer that the garbage collector calls in the middle
    of a read. So nobody waits. The methods of a list are atomic, too, and take half the time of a
    lock's; a generator in place of this class would take three times as long.
    """

    __slots__ = ("_has_turn", "_received")

    def __init__(self, received: Received) -> None:
        self._received = received

    def __enter__(self) -> Any:
        received = self._received
        try:
            received.turn.pop()
        except IndexError:
            self._has_turn = False
            # Serialising makes no objects of parts.
            return _parse(received.message.SerializeToString())
        self._has_turn = True
        return received.message

    def __exit__(self, *error: object) -> None:
        if self._has_turn:
            self._received.turn.append(None)


_EMPTY = messages.Entity()
_HOLDING = frozenset(("array_value", "entity_value"))


def _no_entity(part: Any) -> NoReturn:
    raise AssertionError("only arrays and entities hold entities")


def _made(kind: type[_Self], message: Any, turn: list[None]) -> _Self:
    """Make a mapping of a message, which nobody changes any more.

    Every mapping with received properties is made here.

    Args:
        kind: the class of the mapping.
        message: a upb ``google.datastore.v1.Entity``.
        turn: of the message that it is a part of; a new one for a whole message.
    """
    mapping = _new(kind)
    received = Received(message, turn)
    _set_received(mapping, received)
    if kind is not LazyMapping:
        # While no other thread has the mapping. CPython before 3.12 may collect garbage, and so
        # run other threads, between looking for an instance dictionary and putting its own in
        # place: one of two threads at once would write into a lost dictionary.
        _instance_dict(mapping)
    _fill(mapping, undecoded_template(received.values))
    return mapping


class LazyMapping(LazyDict):
    """As :class:`lazyentity._backend.protocols.LazyMapping`."""

    __slots__ = ("_received",)

    # Set by its descriptor: setting an attribute takes several times longer in an Entity that
    # defines __setattr__.
    _received: Received

    def __new__(cls: type[_Self], *args: Any, **kwargs: Any) -> _Self:
        mapping = super().__new__(cls, *args, **kwargs)
        _set_received(mapping, Received(_EMPTY, [None]))
        return mapping

    @classmethod
    def _from_raw(cls: type[_Self], raw: bytes) -> _Self:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._from_raw`."""
        if not isinstance(raw, bytes):
            # As the native backend, whose argument is declared.
            raise TypeError(f"raw must be bytes, not {type(raw).__name__}")
        try:
            message = _parse(raw)
        except DecodeError as error:
            raise errors.undecodable_entity(error, raw) from error
        return _made(cls, message, [None])

    # The operations of dict; none returns the sentinel.

    def __getitem__(self, name: str, /) -> Any:
        # The hottest function of the backend: it calls as little as it can.
        value = _stored(self, name)
        if value is not UNDECODED:
            return value
        received = self._received
        if received.is_watched and received.policy is not None:
            received.policy.refuse(self, name)
        if type(name) is not str:
            name = self._received_name(name)
        # As _original(), with fewer calls.
        try:
            received.turn.pop()
        except IndexError:
            value = self._original(received, name)
        else:
            try:
                message = received.values.get(name)
                case = None if message is None else _which(message, "value_type")
                if case in SCALARS:
                    value = getattr(message, case)
                else:
                    value = self._converted(received, received.values, name)
            finally:
                received.turn.append(None)
            # Of two threads that convert the same property, both get the object of the first.
            value = received.originals.setdefault(name, value)
        if received.is_watched and received.counts is not None:
            received.counts.decode((name,))
        # An assignment or deletion meanwhile stays. Not keep(), which takes too long here.
        if _found(self, name) is UNDECODED:
            _store(self, name, value)
        return value

    _decode = __getitem__

    def _received_name(self, name: Any) -> str:
        """Return the name that an object is equal to: a dict finds it by that, upb by its text."""
        found: str = next((known for known in self if known == name), name)
        return found

    def _original(self, received: Received, name: str) -> Any:
        """Return the value that a property was received with, the same object each time."""
        originals = received.originals
        if name in originals:
            return originals[name]
        with Reading(received) as message:
            value = self._converted(received, message.properties, name)
        return originals.setdefault(name, value)

    def _converted(self, received: Received, values: Any, name: str) -> Any:
        # Not values[name], by which upb would add a property that is not there.
        message = values.get(name)
        if message is None:
            raise errors.undecoded_property(name, self._raw)
        case = _which(message, "value_type")
        if case in SCALARS:
            return getattr(message, case)
        try:
            if case not in _HOLDING:
                return value_from_message(message, case, _no_entity)
            # Embedded entities are parts of the same message, or of the copy of it.
            turn = received.turn if values is received.values else [None]
            kind = type(self)
            if case == "entity_value":
                return _made(kind, message.entity_value, turn)
            return property_value(name, message, lambda part: _made(kind, part, turn))
        except (ValueError, OverflowError) as error:
            errors.note_property(error, name, self._raw)
            raise

    def _decode_all(self, operation: str) -> None:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._decode_all`."""
        undecoded = self._undecoded()
        if not undecoded:
            return
        received = self._received
        if received.policy is not None:
            received.policy.refuse_all(self, operation)
        originals = received.originals
        decoded = {}
        with Reading(received) as message:
            values = message.properties
            for name in undecoded:
                value_message = values.get(name)
                case = None if value_message is None else _which(value_message, "value_type")
                if case in SCALARS:
                    value = getattr(value_message, case)
                elif name in originals:
                    value = originals[name]
                else:
                    value = self._converted(received, values, name)
                # Of two threads that decode the same property, both get the object of the first.
                decoded[name] = originals.setdefault(name, value)
        # An assignment or deletion meanwhile stays. In one call, which no thread interrupts.
        stored = map(_found, itertools.repeat(self), decoded)
        is_undecoded = map(operator.is_, stored, itertools.repeat(UNDECODED))
        _fill(self, itertools.compress(decoded.items(), is_undecoded))
        if received.counts is not None:
            received.counts.decode(undecoded, operation)

    def _read_on_request(self, name: str) -> Any:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._read_on_request`."""
        value = _stored(self, name)
        return self._read_past_policy(name) if value is UNDECODED else value

    def _read_deleted(self, name: str) -> Any:
        if self._policy is not None:
            self._policy.refuse(self, name)
        return self._read_past_policy(name)

    def _read_past_policy(self, name: str) -> Any:
        received = self._received
        value = self._original(received, name)
        if received.counts is not None:
            received.counts.decode((name,))
        keep(self, name, value)
        return value

    def _plain_values(
        self, names: Iterable[str], copy: Callable[[Any], Any], operation: str = ""
    ) -> dict[str, Any]:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._plain_values`."""
        received = self._received
        stored = {name: _stored(self, name) for name in names} if names else self._storage()
        undecoded = [name for name, value in stored.items() if value is UNDECODED]
        if undecoded and received.policy is not None:
            if not names:
                received.policy.refuse_all(self, "to_dict()")
            received.policy.refuse(self, undecoded[0])
        # A mapping of its own for embedded entities, which stay as they are here.
        apart = _made(LazyMapping, received.message, received.turn)
        plain = {
            name: plain_value(apart._original(apart._received, name))
            if value is UNDECODED
            else copy(value)
            for name, value in stored.items()
        }
        if undecoded and received.counts is not None:
            received.counts.decode(undecoded, operation if names else "to_dict()")
        return plain

    # The state beside the storage.

    @property
    def _raw(self) -> bytes:
        """As :attr:`lazyentity._backend.protocols.LazyMapping._raw`."""
        serialised: bytes = self._received.message.SerializeToString()
        return serialised

    @property
    def _shape(self) -> Shape:
        with Reading(self._received) as message:
            return shape_of(tuple(message.properties))

    @property
    def _policy(self) -> Any:
        """As :attr:`lazyentity._backend.protocols.LazyMapping._policy`."""
        return self._received.policy

    @_policy.setter
    def _policy(self, policy: Any) -> None:
        self._received.policy = policy
        self._received.is_watched = True

    @property
    def _entity_counts(self) -> Any:
        """As :attr:`lazyentity._backend.protocols.LazyMapping._entity_counts`."""
        return self._received.counts

    @_entity_counts.setter
    def _entity_counts(self, counts: Any) -> None:
        self._received.counts = counts
        self._received.is_watched = True

    @property
    def _deleted_attributes(self) -> frozenset[str]:
        """As :attr:`lazyentity._backend.protocols.LazyMapping._deleted_attributes`."""
        return self._received.deleted

    @_deleted_attributes.setter
    def _deleted_attributes(self, names: frozenset[str]) -> None:
        self._received.deleted = names

    def _instance_dict(self) -> dict[str, Any]:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._instance_dict`."""
        return _instance_dict(self)  # type: ignore[no-any-return]  # a descriptor of Entity's

    def _replace_instance_dict(self, attributes: dict[str, Any]) -> None:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._replace_instance_dict`."""
        _set_instance_dict(self, attributes)

    def _changes(self) -> Changes:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._changes`."""
        with Reading(self._received) as message:
            names = dict.fromkeys(message.properties)
        return changes_of(self._storage(), names, self)

    def _decoded(self) -> dict[str, Any]:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._decoded`."""
        return self._changes()[0]

    # The entity as it was received, whatever the caller changed since.

    def _serialised_values(self, names: Iterable[str]) -> list[bytes]:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._serialised_values`."""
        with Reading(self._received) as message:
            return [message.properties[name].SerializeToString() for name in names]

    def _merge_untouched(
        self, target: Any, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> None:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._merge_untouched`."""
        # Copied as a whole: fields and flags that nobody here knows stay.
        with Reading(self._received) as message:
            target.CopyFrom(message)
        properties = target.properties
        for name in (*changed, *deleted):
            if name in properties:
                del properties[name]
        if not keeps_key:
            target.ClearField("key")

    def _untouched(
        self, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> bytes:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._untouched`."""
        target = messages.Entity()
        self._merge_untouched(target, changed, deleted, keeps_key)
        serialised: bytes = target.SerializeToString()
        return serialised

    def _wire_entity(self) -> Entity | None:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._wire_entity`."""
        if self._policy is not None:
            return None
        try:
            with Reading(self._received) as message:
                return stock_entity(message)
        except (ValueError, OverflowError):
            return None

    def _wire_cases(self, names: Iterable[str]) -> bytes:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._wire_cases`."""
        with Reading(self._received) as message:
            values = message.properties
            return bytes(CASE_NUMBERS[values[name].WhichOneof("value_type")] for name in names)

    def _wire_key(self) -> Key | None:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._wire_key`."""
        originals = self._received.originals
        if Key not in originals:
            with Reading(self._received) as message:
                has_key = message.HasField("key")
                key = helpers.key_from_protobuf(message.key) if has_key else None
            originals.setdefault(Key, key)
        made: Key | None = originals[Key]
        return made

    def _wire_key_bytes(self) -> bytes:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._wire_key_bytes`."""
        with Reading(self._received) as message:
            return message.key.SerializeToString() if message.HasField("key") else b""

    def _wire_excluded(self, names: Iterable[str] | None = None) -> set[str]:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._wire_excluded`."""
        with Reading(self._received) as message:
            values = message.properties
            excluded = set()
            for name in values if names is None else names:
                try:
                    if is_excluded(name, values[name]):
                        excluded.add(name)
                except ValueError as error:
                    errors.note_property(error, name, self._raw)
                    raise
        return excluded

    def _wire_meanings(self, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        """As :meth:`lazyentity._backend.protocols.LazyMapping._wire_meanings`."""
        received = self._received
        with Reading(received) as message:
            values = message.properties
            found = {
                name: meaning_of(values[name]) for name in (values if names is None else names)
            }
        meanings = {}
        for name, meaning in found.items():
            if meaning is not None:
                original = self._original(received, name)
                # Otherwise it was read, replaced or deleted before.
                keep(self, name, original)
                meanings[name] = (meaning, original)
        return meanings


_set_received = LazyMapping._received.__set__  # type: ignore[attr-defined]  # a slot


class Shape:
    """The names of an entity's properties, as models and profiles ask for them.

    Attributes:
        ordinals: as of :class:`lazyentity._backend.protocols.Shape`.
        template: as of :class:`lazyentity._backend.protocols.Shape`.
    """

    __slots__ = ("ordinals", "template")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.ordinals = {name: ordinal for ordinal, name in enumerate(names)}
        self.template: dict[str, UndecodedType] | None = None


SHAPES: BoundedCache[tuple[str, ...], Shape] = BoundedCache(MAX_BYTES)


def shape_of(names: tuple[str, ...]) -> Shape:
    """Return the shape of entities with these names: the same one, once they have come twice."""
    shape = SHAPES.get(names)
    if shape is None:
        shape = Shape(names)
        if SHAPES.comes_again(names):
            shape.template = undecoded_template(shape.ordinals)
            SHAPES.keep(names, shape, learned_bytes(names, shape.template))
    return shape
