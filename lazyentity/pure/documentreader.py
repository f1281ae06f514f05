"""Documents: another format of Google's databases, in which a dict is a map of values.

A client gives the functions that make its references, points and types.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from lazyentity.codec.undecoded import UNDECODED

_SCALARS = frozenset(
    ("boolean_value", "bytes_value", "double_value", "integer_value", "string_value")
)
_SECONDS = range(-62_135_596_800, 253_402_300_800)
_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1)


class DocumentReader:
    """As :class:`lazyentity._backend.wireformats.DocumentReader`."""

    def __init__(
        self,
        *,
        geo_point: Callable[[float, float], Any],
        reference: Callable[[str, Any], Any],
        other_map: Callable[[bytes, Any], Any],
        timestamp: type[datetime.datetime] | None,
    ) -> None:
        if timestamp is not None and not issubclass(timestamp, datetime.datetime):
            raise TypeError("timestamp must be a subclass of datetime")
        self._geo_point = geo_point
        self._reference = reference
        self._other_map = other_map
        self._timestamp: Any = timestamp

    def _map(self, fields: Any, client: Any) -> Any:
        """Return a dict of a protobuf map; UNDECODED, if the client has to convert it."""
        decoded = {}
        for name, value in fields.items():
            if name.startswith("__"):
                return UNDECODED
            decoded[name] = item = self._value(value, client)
            if item is UNDECODED:
                return UNDECODED
        return decoded

    def _value(self, value: Any, client: Any) -> Any:
        """Return what a ``Value`` message holds; UNDECODED, if the client has to convert it."""
        case = value.WhichOneof("value_type")
        if case in _SCALARS:
            return getattr(value, case)
        if case == "null_value":
            return None
        if case == "timestamp_value":
            return self._timestamp_of(value.timestamp_value)
        if case == "map_value":
            message = value.map_value
            decoded = self._map(message.fields, client)
            if decoded is UNDECODED and any(name.startswith("__") for name in message.fields):
                return self._other_map(message.SerializeToString(), client)
            return decoded
        if case == "array_value":
            items = [self._value(item, client) for item in value.array_value.values]
            return UNDECODED if any(item is UNDECODED for item in items) else items
        if case == "reference_value":
            return self._reference(value.reference_value, client)
        if case == "geo_point_value":
            return self._geo_point(value.geo_point_value.latitude, value.geo_point_value.longitude)
        return UNDECODED

    def _timestamp_of(self, message: Any) -> Any:
        seconds, nanos = message.seconds, message.nanos
        if self._timestamp is None or seconds not in _SECONDS or not 0 <= nanos < 1_000_000_000:
            return UNDECODED
        date = _EPOCH + datetime.timedelta(seconds=seconds)
        timestamp = datetime.datetime.__new__(
            self._timestamp, *date.timetuple()[:6], nanos // 1000, _UTC
        )
        timestamp._nanosecond = 0
        return timestamp
