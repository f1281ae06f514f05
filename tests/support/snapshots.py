"""Values as plain structures that compare strictly: type by type, bit by bit."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key

from lazyentity.detached import DetachedEntity
from lazyentity.entity import LazyEntityBase

FOREIGN: dict[type, Callable[[Any], Any]] = {}
"""Forms of values of types that entities never come with, for who assigns such values."""

_ENTITY_ATTRIBUTES = ("key", "exclude_from_indexes", "_meanings")


def snapshot(value: Any) -> Any:
    """Return ``value`` in a form that is equal only to that of an indistinguishable value.

    A lazy entity gives the form of a stock one: that is the one difference allowed.

    Raises:
        AssertionError: if ``value`` is nothing that an entity can hold, the sentinel for one.
    """
    if isinstance(value, Entity):
        return _entity(value)
    if isinstance(value, datetime.datetime):
        return type(value), value.timetuple(), value.microsecond, _zone(value), _nanoseconds(value)
    kind = type(value)
    if kind is float:
        return kind, struct.pack("<d", value)
    if kind in (list, tuple):
        return kind, [snapshot(item) for item in value]
    if kind is dict:
        return kind, {snapshot(name): snapshot(item) for name, item in value.items()}
    if kind is GeoPoint:
        return kind, snapshot(value.latitude), snapshot(value.longitude)
    if kind is Key:
        return kind, snapshot_key(value)
    if kind in FOREIGN:
        return kind, FOREIGN[kind](value)
    assert kind in (bool, int, str, bytes, type(None)), f"no entity holds a {kind}"
    return kind, value


def snapshot_key(key: Key | None) -> Any:
    """As :func:`snapshot`, for a key: an incomplete one is not even equal to itself."""
    if key is None:
        return None
    # The public property makes a deep copy, which takes most of the time of comparing entities.
    path = [{**element} for element in key._path]
    return key.flat_path, path, key.project, key.namespace, key.database


def _zone(value: datetime.datetime) -> Any:
    return value.tzinfo, value.utcoffset(), value.fold


def _nanoseconds(value: datetime.datetime) -> Any:
    return getattr(value, "nanosecond", None), getattr(value, "_nanosecond", None)


def _items(entity: Entity) -> Any:
    # A detached entity refuses items().
    return dict(entity).items() if isinstance(entity, DetachedEntity) else entity.items()


def _entity(entity: Entity) -> Any:
    kind = type(entity)
    return {
        "type": Entity if issubclass(kind, LazyEntityBase) else kind,
        "properties": {name: snapshot(value) for name, value in _items(entity)},
        "key": snapshot_key(entity.key),
        "excluded": (type(entity.exclude_from_indexes), sorted(entity.exclude_from_indexes)),
        "meanings": snapshot_meanings(entity),
        "attributes": {
            name: value for name, value in vars(entity).items() if name not in _ENTITY_ATTRIBUTES
        },
    }


def snapshot_meanings(entity: Entity) -> Any:
    """As :func:`snapshot`; also says whether each original is the present value of the property.

    The client writes a meaning back only if it is.
    """
    return {
        name: (meaning, original is entity.get(name), snapshot(original))
        for name, (meaning, original) in entity._meanings.items()
    }


@dataclass(frozen=True)
class Raised:
    """An error in place of a result."""

    kind: type[Exception]
    text: str


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of ``call``, or its error as :class:`Raised`."""
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001  # any error is compared
        return Raised(type(error), str(error))


def snapshot_outcome(call: Callable[[], Any]) -> Any:
    """As :func:`outcome`, with the result as :func:`snapshot`."""
    result = outcome(call)
    return result if isinstance(result, Raised) else snapshot(result)


def geo_points_without_address() -> AbstractContextManager[Any]:
    """Give GeoPoint, which has the repr of ``object``, one that equal points have in common."""
    return mock.patch.object(
        GeoPoint, "__repr__", lambda point: f"GeoPoint({point.latitude}, {point.longitude})"
    )


def whole(entity: Entity) -> Any:
    """Return all of a stock entity: its snapshot, and every visible order."""
    return snapshot(entity), list(_orders(entity))


def _orders(value: Any) -> Iterator[Any]:
    if isinstance(value, Entity):
        assert type(value) is Entity
        yield list(value), list(value.exclude_from_indexes)
        yield list(value._meanings), list(vars(value))
        yield from _orders(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _orders(item)
