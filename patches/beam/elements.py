"""Elements of pipelines that convert a property when it is read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from apache_beam.io.gcp.datastore.v1new import types
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity._backend import stock_from_raw
from lazyentity._mode import gives_stock
from lazyentity.codec.undecoded import UNDECODED, undecoded_template
from lazyentity.entity import LazyEntity, touched_attributes
from lazyentity.patches.beam.seams import CLIENT
from lazyentity.profiling import observer
from lazyentity.storage.lazyvaluedict import LazyValueDict

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts

_new_dict = LazyValueDict.__new__
_fill = dict.update
_new = object.__new__

_IMMUTABLE = frozenset((bool, bytes, float, int, str, type(None), DatetimeWithNanoseconds))
_ATTRIBUTES = ("key", "exclude_from_indexes", "properties")
_NAMES = frozenset(_ATTRIBUTES)


_last_template: tuple[Any, dict[Any, Any]] = (None, {})
"""The shape of the last entity, and the storage of its properties before any is read."""


def _template(entity: LazyEntity) -> dict[Any, Any]:
    """Return the storage for the properties of an entity; nothing of the entity was read."""
    global _last_template  # replaced as a whole, so that threads need no lock
    shape, template = _last_template
    if entity._shape is not shape:
        # Entities of a kind come one after the other, and mostly have the same names.
        template = undecoded_template(entity)
        _last_template = entity._shape, template
    return template


class ElementProperties(LazyValueDict):
    """The attribute ``properties`` of an element, converted one by one.

    Attributes:
        _entity: the received entity. Nobody else has it.
    """

    __slots__ = ("_entity",)

    _entity: LazyEntity

    @classmethod
    def from_entity(cls, entity: LazyEntity) -> ElementProperties:
        """Make the dict, with all names and no value."""
        made: ElementProperties = _new_dict(cls)
        made._entity = entity
        _fill(made, _template(entity))
        return made

    def _compute(self, name: Any) -> Any:
        return _converted(self._entity[name])

    def changes(self) -> tuple[dict[Any, Any], tuple[str, ...]]:
        """Return the changes made to the received properties, consistent with each other.

        Returns:
            The properties whose values may differ from the received ones; the names of the received
            properties that were taken out.
        """
        entity = self._entity
        taken = self._storage()
        assigned = {
            name: value
            for name, value in taken.items()
            # Tested first: a pipeline asks this of each element, and most properties are unread.
            if value is not UNDECODED and (name not in entity or not _is_same(value, entity[name]))
        }
        if len(taken) >= len(entity) and taken.keys() >= entity.keys():
            return assigned, ()
        return assigned, tuple(name for name in entity if name not in taken)


def _converted(value: Any) -> Any:
    """Convert a client's value as ``types.Entity.from_client_entity`` does."""
    if isinstance(value, Key):
        return types.Key.from_client_key(value)
    if isinstance(value, Entity):
        return types.Entity.from_client_entity(value) if value.key else dict(value.items())
    return value


def _is_same(value: Any, received: Any) -> bool:
    """Whether a value is the one that was made of a received value, and certainly unchanged."""
    if value is received:
        return type(value) in _IMMUTABLE
    if type(value) is types.Key:
        return isinstance(received, Key) and _is_same_key(value, received)
    if type(value) is LazyElement:
        return (
            type(received) is LazyEntity
            and value._raw == received._raw
            and value._changes() is NOTHING
        )
    return False


def _is_same_key(key: Any, received: Key | None) -> bool:
    # Comparing keys ignores namespaces.
    return (
        type(key) is types.Key
        and received is not None
        and vars(key) == vars(types.Key.from_client_key(received))
    )


class Changes(NamedTuple):
    """The differences between an element and the entity that was received.

    Attributes:
        key: whether the element may have another key.
        excluded: whether other properties are excluded from indexes.
        assigned: the properties that may have another value.
        deleted: the names of the received properties that the element lacks.
    """

    key: bool
    excluded: bool
    assigned: dict[Any, Any]
    deleted: tuple[str, ...]


NOTHING = Changes(key=False, excluded=False, assigned={}, deleted=())


class _Made:
    """An attribute of an element, made of the received entity when it is first read.

    After that, or once it was set, Python finds it in the instance dictionary without calling this
    descriptor.

    Args:
        make: makes the value of the entity.
    """

    def __init__(self, make: Callable[[LazyEntity], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, element: Any, owner: type) -> Any:
        if element is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        # Of several threads, all get the value of the first.
        return vars(element).setdefault(self._name, self._make(element._entity()))


class LazyElement(types.Entity):  # type: ignore[misc]  # announces no types
    """A ``types.Entity`` that converts a property when it is first read.

    Its coder and its pickles hold the received bytes and the changes.

    Attributes:
        _raw: the serialised ``google.datastore.v1.Entity`` message.
        _received: the entity, once something of it was read. Nobody else has it.
    """

    __slots__ = ("_raw", "_received")

    _raw: bytes
    _received: LazyEntity | None

    key = _Made(lambda entity: types.Key.from_client_key(entity.key))
    exclude_from_indexes = _Made(lambda entity: set(entity.exclude_from_indexes))
    properties = _Made(ElementProperties.from_entity)

    def _entity(self) -> LazyEntity:
        received = self._received
        if received is None:
            # Not the entity that was converted, which the caller can change.
            received = self._received = LazyEntity._from_raw(self._raw)
        return received

    def _changes(self) -> Changes | None:
        """Return the changes; :data:`NOTHING` if there is none, None if all may have changed."""
        attributes = vars(self)
        if not attributes:
            return NOTHING
        entity = self._entity()
        if "properties" not in attributes:
            assigned, deleted = NOTHING.assigned, NOTHING.deleted
        elif (
            isinstance(properties := attributes["properties"], ElementProperties)
            and properties._entity is entity
        ):
            assigned, deleted = properties.changes()
        else:
            return None
        if not attributes.keys() <= _NAMES:
            return None
        changes = Changes(
            "key" in attributes and not _is_same_key(attributes["key"], entity.key),
            "exclude_from_indexes" in attributes
            and attributes["exclude_from_indexes"] != entity.exclude_from_indexes,
            assigned,
            deleted,
        )
        return NOTHING if changes == NOTHING else changes

    def to_client_entity(self) -> Entity:
        """As ``types.Entity.to_client_entity``; unchanged properties stay as they were received."""
        changes = self._changes()
        if changes is None:
            converted: Entity = super().to_client_entity()
            return converted
        made = LazyEntity._from_raw(self._raw)
        if changes is NOTHING:
            return made
        changed = types.Entity(self.key, self.exclude_from_indexes)
        changed.properties = changes.assigned
        converted = changed.to_client_entity()
        for name in changes.deleted:
            del made[name]
        if changes.key:
            made.key = converted.key
        if changes.excluded:
            made.exclude_from_indexes = converted.exclude_from_indexes
        made.update(converted)
        return made

    def __repr__(self) -> str:
        return repr(self._stock())

    def _stock(self) -> types.Entity:
        """Return a stock element that shares the attributes of this one."""
        return _stock({name: getattr(self, name) for name in _ATTRIBUTES} | vars(self))

    def __copy__(self) -> Any:
        made: Any = lazy(self._raw)
        made._received = self._entity()
        # As of any object, the copy shares the attributes.
        vars(made).update(vars(self._stock()))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        changes = self._changes()
        if changes is NOTHING:
            return of_bytes, (self._raw,)
        if changes is None:
            return _stock, (vars(self._stock()),)
        attributes = {}
        if changes.key:
            attributes["key"] = self.key
        if changes.excluded:
            attributes["exclude_from_indexes"] = self.exclude_from_indexes
        return _changed, (self._raw, attributes, changes.assigned, changes.deleted)


def _stock(attributes: dict[str, Any]) -> types.Entity:
    """Return a stock element with these attributes. Pickles refer to this function."""
    made = _new(types.Entity)
    vars(made).update(attributes)
    return made


def of_bytes(raw: bytes) -> types.Entity:
    """Return an element of a serialised entity: a stock one where ``from_bytes`` makes stock ones.

    Pickles refer to this function.
    """
    return types.Entity.from_client_entity(stock_from_raw(raw)) if gives_stock() else lazy(raw)


def lazy(raw: bytes) -> LazyElement:
    """Return an element over a serialised entity."""
    made: LazyElement = _new(LazyElement)
    made._raw = raw
    made._received = None
    return made


def _changed(
    raw: bytes, attributes: dict[str, Any], assigned: dict[Any, Any], deleted: tuple[str, ...]
) -> Any:
    """Return an element with changes. Pickles refer to this function.

    Args:
        raw: the serialised entity.
        attributes: the other attributes that differ.
        assigned: the properties with other values.
        deleted: the names of properties that it lacks.
    """
    made: Any = of_bytes(raw)
    vars(made).update(attributes)
    for name in deleted:
        del made.properties[name]
    made.properties.update(assigned)
    return made


class _Counted(ElementProperties):
    """The properties of an element whose entity is counted.

    Attributes:
        _entity_counts: of the entity.
    """

    __slots__ = ("_entity_counts",)

    _entity_counts: EntityCounts

    def _compute(self, name: Any) -> Any:
        made = super()._compute(name)
        self._entity_counts.decode((name,))
        return made


def count_element(element: Any, entity_counts: EntityCounts) -> None:
    """Count the reads of an element that was just made.

    Args:
        element: lazy. Out of bytes, as in another process, it comes without the count.
        entity_counts: of its entity.
    """
    entity_counts.without_options += 1
    properties: Any = _Counted.from_entity(element._entity())
    properties._entity_counts = entity_counts
    vars(element)["properties"] = properties


def replace_from_client_entity(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``types.Entity.from_client_entity``, a static method."""
    convert = original.__func__

    @functools.wraps(convert)
    def from_client_entity(client_entity: Any) -> Any:
        # Strict and detached entities are of other classes, and refuse or convert by themselves.
        if type(client_entity) is LazyEntity and is_active() and CLIENT.guard.is_intact():
            element = _element(client_entity)
            if element is not None:
                if observer.data is not None and client_entity._entity_counts is not None:
                    count_element(element, client_entity._entity_counts)
                return element
        return convert(client_entity)

    return staticmethod(from_client_entity)


def _element(entity: LazyEntity) -> LazyElement | None:
    """Make an element of an entity of which nothing but its key was read, and nothing changed."""
    if entity._decoded() or len(entity) != len(entity._shape.ordinals):
        return None
    attributes = touched_attributes(entity)
    # Beam looks at the keys of embedded entities.
    is_read = attributes and not _has_only_its_key(entity, attributes)
    return None if is_read or entity._deleted_attributes else lazy(entity._raw)


def _has_only_its_key(entity: LazyEntity, attributes: dict[str, Any]) -> bool:
    return [*attributes] == ["key"] and attributes["key"] is entity._wire_key()
