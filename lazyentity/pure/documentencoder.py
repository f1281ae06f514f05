"""The encoder of documents: a dict of values to the bytes that are sent.

A client gives its functions and types. The maps of a document are copied before a value is encoded,
as the client copies them. Lists, and all that is in them, are read while they are written, as in
the client. So a document that changes meanwhile is written as the client does it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, Final

_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1)
_SECOND = datetime.timedelta(seconds=1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_COMMON = frozenset((str, int, float, bool, bytes, type(None), datetime.datetime))

# Messages in messages, from the request on. Protobuf's parsers go down 100.
_MAX_DEPTH: Final = 90
_FIELD_DEPTH: Final = 5  # request, write, document, entry, Value
_TO_FIELD: Final = 3  # from a Value to one in its map: map, entry, Value
_TO_ELEMENT: Final = 2  # from a Value to one in its array: array, Value

LAST_EXACT: Final = 1 << 32
"""Seconds. Of a ``DatetimeWithNanoseconds`` beyond, the client may round a fraction up."""


class DocumentWriter:
    """As :class:`lazyentity._backend.wireformats.DocumentWriter`."""

    def __init__(
        self,
        *,
        other: Callable[[Any], bytes],
        is_for_client: Callable[[Any], bool],
        geo_point: type[Any],
        references: tuple[type[Any], ...],
        timestamp: type[Any],
        vector: type[Any],
        write: type[Any],
    ) -> None:
        self._other = other
        self._is_for_client = is_for_client
        self._geo_point = geo_point
        self._references = references
        self._timestamp = timestamp
        self._vector = vector
        self._write = write

    def update(self, name: str, fields: dict[str, Any]) -> bytes | None:
        """As :meth:`lazyentity._backend.wireformats.DocumentWriter.update`."""
        copied = self._copied(fields, _FIELD_DEPTH)
        if copied is None:
            return None
        message = self._write()
        message.update.name = name
        self._write_map(message.update.fields, copied)
        serialised: bytes = message.SerializeToString()
        return serialised

    def _copied(self, fields: dict[str, Any], depth: int) -> dict[str, Any] | None:
        """Return the maps in the client's order, without those in lists.

        None, if the client has to encode the document.
        """
        # Copied, here and below: another thread can change it.
        if depth > _MAX_DEPTH or not all(type(name) is str and name for name in list(fields)):
            return None
        copied = {}
        for name, value in sorted(fields.items()):
            kind = type(value)
            if kind is dict:
                held = self._copied(value, depth + _TO_FIELD)
                if held is None:
                    return None
                copied[name] = held
                continue
            if kind is list or kind is tuple:
                if _is_deep(value, depth + _TO_ELEMENT):
                    return None
            elif kind not in _COMMON and self._is_for_client(value):
                return None
            copied[name] = value
        return copied if all(map(_is_text, copied)) else None

    def _write_map(self, target: Any, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if type(value) is dict:
                message = target[name].map_value
                message.SetInParent()
                self._write_map(message.fields, value)
            else:
                self._write_value(target[name], value)

    def _write_value(self, target: Any, value: Any) -> None:
        kind = type(value)
        if kind is list or kind is tuple:
            array = target.array_value
            array.SetInParent()
            for item in value:
                self._write_value(array.values.add(), item)
            return
        if kind is dict and all(type(name) is str and _is_text(name) for name in list(value)):
            held = target.map_value
            held.SetInParent()
            # Of a dict in a list: an error, if its size changes.
            for name, item in value.items():
                self._write_value(held.fields[name], item)
            return
        try:
            if self._write_scalar(target, value, kind):
                return
        except (ValueError, TypeError):
            # The client raises its own, below.
            pass
        target.MergeFromString(self._other(value))

    def _write_scalar(self, target: Any, value: Any, kind: type) -> bool:
        if kind is str:
            target.string_value = value
        elif kind is bool:
            target.boolean_value = value
        elif kind is int:
            target.integer_value = value
        elif kind is float:
            target.double_value = value
        elif value is None:
            target.null_value = 0
        elif kind is bytes:
            target.bytes_value = value
        elif kind is datetime.datetime or kind is self._timestamp:
            return _write_timestamp(target, value, kind is not datetime.datetime)
        elif any(kind is each for each in self._references):
            path = value._document_path_internal
            if type(path) is not str:
                return False
            target.reference_value = path
        elif kind is self._geo_point:
            return _write_point(target, value)
        elif kind is self._vector and type(value._value) is tuple:
            fields = target.map_value.fields
            fields["__type__"].string_value = "__vector__"
            self._write_value(fields["value"], value._value)
        else:
            return False
        return True


def _write_point(target: Any, point: Any) -> bool:
    latitude = getattr(point, "latitude", None)
    longitude = getattr(point, "longitude", None)
    if type(latitude) is not float or type(longitude) is not float:
        return False
    target.geo_point_value.latitude = latitude
    target.geo_point_value.longitude = longitude
    target.geo_point_value.SetInParent()
    return True


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_deep(value: Any, depth: int) -> bool:
    # Found out in advance: the client must not encode again what was encoded.
    if depth > _MAX_DEPTH - _TO_FIELD:
        return True
    for item in list(value.values() if type(value) is dict else value):
        kind = type(item)
        is_container = kind is dict or kind is list or kind is tuple
        if is_container and _is_deep(item, depth + (_TO_FIELD if kind is dict else _TO_ELEMENT)):
            return True
    return False


def _write_timestamp(target: Any, value: Any, has_nanoseconds: bool) -> bool:
    zone = value.tzinfo
    if zone is not _UTC and (zone is not None or has_nanoseconds):
        return False
    since = datetime.datetime.replace(value, tzinfo=None) - _EPOCH
    seconds = since // _SECOND
    nanos = (since - seconds * _SECOND) // _MICROSECOND * 1000
    if has_nanoseconds:
        nanosecond = getattr(value, "_nanosecond", None)
        if type(nanosecond) is not int or not 0 <= seconds <= LAST_EXACT:
            return False
        if not 0 <= nanosecond < 1_000_000_000:
            return False
        nanos = nanosecond or nanos
    target.timestamp_value.seconds = seconds
    target.timestamp_value.nanos = nanos
    target.timestamp_value.SetInParent()
    return True
