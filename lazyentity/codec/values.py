"""Messages of values, converted as the stock client converts them.

Scalars, timestamps, arrays and embedded entities are converted here. The client's own helpers
convert every other value and raise every error.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any, Final

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.protobuf.timestamp_pb2 import Timestamp
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity._mode import eager
from lazyentity.codec import messages

MAX_CONTAINERS: Final = 200
"""How deep dicts and lists of JSON may be inside of each other."""

RESERVED: Final = "$"
"""The key that marks dicts of packed documents with another meaning than their own."""

SCALARS = frozenset(
    ("boolean_value", "integer_value", "double_value", "string_value", "blob_value")
)


def stock_entity(message: Any) -> Entity:
    """Convert the message ``message`` with the client's own code, nested entities included.

    If somebody replaced the client's function, the replacement converts the message.

    Raises:
        ValueError: as the client raises it.
    """
    # Looked up at each call, as by the client: while this module is imported, a mock may be in
    # place. A patch's own replacement calls the client's function inside eager().
    with eager():
        entity: Entity = helpers.entity_from_protobuf(message)
    return entity


# Timestamps, without the slow constructors of DatetimeWithNanoseconds.

# A datetime can hold the years 1 to 9999. The float number of microseconds that
# from_timestamp_pb() goes through is exact there, as a multiple of 64 below 2**59.
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799
_NANOS_PER_SECOND = 1_000_000_000


def _timestamp(message: Any) -> DatetimeWithNanoseconds:
    seconds, nanos = message.seconds, message.nanos
    if not (0 <= nanos < _NANOS_PER_SECOND and _FIRST_SECOND <= seconds <= _LAST_SECOND):
        return DatetimeWithNanoseconds.from_timestamp_pb(message)
    timestamp = datetime.datetime.__new__(
        DatetimeWithNanoseconds,
        *time.gmtime(seconds)[:6],
        nanos // 1000,
        datetime.timezone.utc,
    )
    timestamp._nanosecond = nanos
    return timestamp


def _timestamps_agree() -> bool:
    """Say whether a timestamp of proto-plus has the attributes of :func:`_timestamp` only."""
    message = Timestamp(seconds=1_234_567_890, nanos=123_456_789)
    stock = DatetimeWithNanoseconds.from_timestamp_pb(message)
    try:
        direct = _timestamp(message)
    except (AttributeError, TypeError):
        return False
    return (
        stock == direct and stock.nanosecond == direct.nanosecond and not hasattr(stock, "__dict__")
    )


TIMESTAMPS_DIRECT: Final = _timestamps_agree()
"""Whether timestamps may be made by setting ``_nanosecond`` on a datetime made of the class."""

timestamp_from_message = (
    _timestamp if TIMESTAMPS_DIRECT else DatetimeWithNanoseconds.from_timestamp_pb
)
"""Convert a ``google.protobuf.Timestamp`` message exactly as the client does.

Raises:
    ValueError, OverflowError: as ``DatetimeWithNanoseconds.from_timestamp_pb`` raises them.
"""

CASE_NUMBERS: dict[str | None, int] = {
    None: 0,
    **{
        field.name: field.number
        for field in messages.Value.DESCRIPTOR.oneofs_by_name["value_type"].fields
    },
}
"""The numbers of the oneof cases of a ``Value``, by name; 0 if none is set."""


def property_value(name: str, message: Any, make_entity: Callable[[Any], Any]) -> Any:
    """Convert the value of a property; refuse the same values as the client.

    Args:
        name: of the property.
        message: its upb ``google.datastore.v1.Value``.
        make_entity: makes an embedded entity of its upb message.

    Raises:
        ValueError, OverflowError: as the client raises them.
    """
    value_type = message.WhichOneof("value_type")
    value = value_from_message(message, value_type, make_entity)
    if value_type == "array_value":
        is_excluded(name, message)
    return value


def value_from_message(
    message: Any, value_type: str | None, make_entity: Callable[[Any], Any]
) -> Any:
    """Convert the upb ``Value`` message ``message``.

    Args:
        message: a ``google.datastore.v1.Value``.
        value_type: the oneof case that is set.
        make_entity: makes an embedded entity of its upb message.

    Raises:
        ValueError: as the client raises it, if no value is set or the value is out of range.
        OverflowError: as the client raises it, if a timestamp is out of range.
    """
    if value_type in SCALARS:
        return getattr(message, value_type)
    if value_type == "timestamp_value":
        return timestamp_from_message(message.timestamp_value)
    if value_type == "entity_value":
        return make_entity(message.entity_value)
    if value_type == "array_value":
        return [
            # Scalars without calling this function again.
            getattr(item, case)
            if (case := item.WhichOneof("value_type")) in SCALARS
            else value_from_message(item, case, make_entity)
            for item in message.array_value.values
        ]
    return helpers._get_value_from_value_pb(message)


def meaning_of(message: Any) -> Any:
    """Return the meaning of the ``Value`` message ``message`` as the client keeps it, or None."""
    return helpers._get_meaning(message, is_list=message.WhichOneof("value_type") == "array_value")


def is_excluded(name: str, message: Any) -> bool:
    """Say whether the client would list property ``name`` in ``exclude_from_indexes``.

    A non-empty array has the flag in its elements.

    Raises:
        ValueError: as the client raises it, if the elements of an array disagree.
    """
    items = message.array_value.values if message.HasField("array_value") else ()
    if not items:
        return bool(message.exclude_from_indexes)
    flags = {item.exclude_from_indexes for item in items}
    if len(flags) > 1:
        entity = messages.Entity()
        entity.properties[name].CopyFrom(message)
        return name in stock_entity(entity).exclude_from_indexes
    return bool(flags.pop())


def plain_value(value: Any) -> Any:
    """Make plain dicts and lists of the entities and arrays in ``value``, decoding all of it.

    Raises:
        google.protobuf.message.DecodeError, ValueError: if a property in ``value`` is malformed.
    """
    if isinstance(value, dict):
        return {name: plain_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    return value
