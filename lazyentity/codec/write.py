"""Properties written into a message as the client's own encoder writes them, without proto-plus.

Values of the types that the client itself returns are written here; every other value, by the
client.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.struct_pb2 import NULL_VALUE
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec import messages

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_UTC = datetime.timezone.utc
_STAMPS = frozenset((datetime.datetime, DatetimeWithNanoseconds))
_SCALARS = {
    bool: "boolean_value",
    bytes: "blob_value",
    float: "double_value",
    int: "integer_value",
    str: "string_value",
}


# Of other types that the client converts, these hold no values.
_FLAT = frozenset((Key, helpers.GeoPoint))

UNKNOWN_DEPTH = 1_000_000
_ENTITY_LEVELS = 3
"""An entity, an entry of its properties, a value."""
_ARRAY_LEVELS = 2
"""An array, a value."""


def write_properties(
    message: Any,
    properties: Any,
    excluded: Any,
    meanings: Any,
    entity_message: Callable[[Entity], Any],
) -> int:
    """Set properties of an upb ``Entity`` message; those of the same names are replaced.

    Args:
        message: a ``google.datastore.v1.Entity``; left in any state, if this raises.
        properties: a dict.
        excluded: the names to exclude from indexes, as ``Entity.exclude_from_indexes`` has them.
        meanings: as ``Entity._meanings`` has them.
        entity_message: makes the message of an entity that is the value of a property.

    Returns:
        How many messages in messages there are, at most; :data:`UNKNOWN_DEPTH`, where a value was
        not written here.

    Raises:
        Whatever the client's encoder raises, for the same property.
    """
    values = message.properties
    is_empty = not values
    deepest = 0
    for name, value in dict.items(properties):
        if not is_empty and name in values:
            del values[name]
        target = values[name]
        deepest = max(deepest, _write_value(target, value, entity_message))
        # What follows is the client's entity_to_protobuf().
        is_list = isinstance(value, list)
        if name in excluded:
            if not is_list:
                target.exclude_from_indexes = True
            elif value:
                for item in target.array_value.values:
                    item.exclude_from_indexes = True
        if name in meanings:
            helpers._set_pb_meaning_from_entity(
                SimpleNamespace(_meanings=meanings), name, value, target, is_list=is_list
            )
    return deepest + _ENTITY_LEVELS


def serialised_value(value: Any, entity_message: Callable[[Entity], Any]) -> tuple[bytes, int]:
    """Serialise the ``google.datastore.v1.Value`` of a value, without flag and meaning.

    Returns:
        The message, and how many messages there are in it, as :func:`write_properties` tells it.

    Raises:
        Whatever the client's encoder raises.
    """
    target = messages.Value()
    depth = _write_value(target, value, entity_message)
    return target.SerializeToString(), depth


def _write_value(target: Any, value: Any, entity_message: Callable[[Entity], Any]) -> int:
    kind = type(value)
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        setattr(target, scalar, value)
        return 0
    if value is None:
        target.null_value = NULL_VALUE
        return 0
    if kind in _STAMPS and (value.tzinfo is None or value.tzinfo is _UTC):
        _write_stamp(target.timestamp_value, value)
        return 1
    deepest = 0
    if kind is list and value:
        add = target.array_value.values.add
        for item in value:
            deepest = max(deepest, _write_value(add(), item, entity_message))
        return deepest + _ARRAY_LEVELS
    if kind is dict:
        entity = target.entity_value
        entity.SetInParent()
        values = entity.properties
        for name, item in value.items():
            deepest = max(deepest, _write_value(values[name], item, entity_message))
        return deepest + _ENTITY_LEVELS
    if isinstance(value, Entity):
        target.entity_value.CopyFrom(entity_message(value))
    else:
        helpers._set_protobuf_value(target, value)
    return 2 if kind in _FLAT else UNKNOWN_DEPTH


def _write_stamp(target: Any, stamp: Any) -> None:
    target.SetInParent()
    days = stamp.toordinal() - _EPOCH
    target.seconds = days * 86400 + stamp.hour * 3600 + stamp.minute * 60 + stamp.second
    # The client writes no more than microseconds.
    target.nanos = stamp.microsecond * 1000
