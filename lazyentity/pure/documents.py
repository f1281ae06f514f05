"""Documents: another format of Google's databases, in which a dict is a map of values.

A document has a name, times and fields. The classes here know its wire format. A client gives the
functions that make references, points and types of its own.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec.timestamps import timestamp_from_message
from lazyentity.codec.undecoded import UNDECODED

_SCALARS = frozenset(
    ("boolean_value", "bytes_value", "double_value", "integer_value", "string_value")
)
_SECONDS = range(-62_135_596_800, 253_402_300_800)
_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1)


class DocumentReader:
    """Decodes the documents of a client, each time into new objects.

    Args:
        geo_point: makes a point of latitude and longitude.
        reference: makes a reference to a document, of its name and a client.
        other_map: converts a map with a name that begins with two underscores, serialised as a
            ``MapValue``, for a client: it may be another type than a dict.
        timestamp: the class of timestamps, a subclass of ``datetime`` with an attribute
            ``_nanosecond``, which is 0 in all of them; None, if the client has to make them.

    Raises:
        TypeError: if ``timestamp`` is something else.
    """

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


class DocumentBytes:
    """A serialised response with one document, and perhaps the time of the read and numbers.

    Attributes:
        raw: the response.
    """

    __slots__ = ("_time_number", "_response", "raw")

    raw: bytes
    _time_number: int
    _response: Any

    @classmethod
    def of(cls, raw: bytes, read_time_number: int, response: Any) -> Any:
        """Split a response.

        Args:
            raw: the serialised response. Its field 1 is the document.
            read_time_number: the number of the field with the time.
            response: the upb class of the response.

        Returns:
            An instance; None, if there is anything else but numbers in the response, or if it is
            malformed.
        """
        self = cls.again(raw, read_time_number, response)
        try:
            message = response.FromString(raw)
        except DecodeError:
            return None
        name = ""
        try:
            for field, value in message.ListFields():
                if field.number == read_time_number:
                    timestamp_from_message(value)
                elif field.number == 1 and field.message_type is not None:
                    name = value.name
                    timestamp_from_message(value.create_time)
                    timestamp_from_message(value.update_time)
                elif field.message_type is not None or type(value) not in (bool, int):
                    return None
        except (ValueError, OverflowError):
            # The client raises it where somebody asks for the time.
            return None
        return self if name else None

    @classmethod
    def again(cls, raw: bytes, read_time_number: int, response: Any) -> Any:
        """Return an instance for bytes of which :meth:`of` made one before; arguments as there."""
        self = object.__new__(cls)
        self.raw, self._time_number, self._response = raw, read_time_number, response
        return self

    def _part(self, number: int) -> Any:
        """Return a message in a new message of the response; None, if it is not there."""
        fields = self._response.FromString(self.raw).ListFields()
        return next((value for field, value in fields if field.number == number), None)

    def _time(self, name: str) -> Any:
        document = self._part(1)
        return timestamp_from_message(getattr(document, name)) if document.HasField(name) else None

    @property
    def name(self) -> str:
        """The name of the document."""
        name: str = self._part(1).name
        return name

    def is_in(self, collection: str) -> bool:
        """Whether the document is in a collection, given by its name, and not further below."""
        return self.name.rpartition("/")[0] == collection

    @property
    def read_time(self) -> Any:
        """A new ``DatetimeWithNanoseconds`` of proto-plus, or None."""
        time = self._part(self._time_number)
        return None if time is None else timestamp_from_message(time)

    @property
    def create_time(self) -> Any:
        """As :attr:`read_time`."""
        return self._time("create_time")

    @property
    def update_time(self) -> Any:
        """As :attr:`read_time`."""
        return self._time("update_time")

    def decoded_fields(self, reader: DocumentReader, client: Any) -> Any:
        """Return a new dict of the fields; UNDECODED, if the client has to convert the document.

        Raises:
            Exception: as a function of the reader raises it.
        """
        return reader._map(self._part(1).fields, client)

    def decoded_value(self, reader: DocumentReader, client: Any, names: Sequence[str]) -> Any:
        """Return the value of a field in fields, by their names.

        Returns:
            A new object; UNDECODED, if there is no such field, or if the client has to convert it.

        Raises:
            TypeError, UnicodeEncodeError: if a name is no text.
            Exception: as a function of the reader raises it.
        """
        fields, value = self._part(1).fields, None
        for name in names:
            if value is not None:
                if value.WhichOneof("value_type") != "map_value":
                    return UNDECODED
                fields = value.map_value.fields
            if name not in fields or any(known.startswith("__") for known in fields):
                return UNDECODED
            value = fields[name]
        return UNDECODED if value is None else reader._value(value, client)
