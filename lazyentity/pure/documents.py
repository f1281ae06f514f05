"""Responses with one document, which has a name, times and fields.

The class here knows their wire format; :mod:`lazyentity.pure.documentreader` decodes the fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec.timestamps import timestamp_from_message
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.pure.documentreader import DocumentReader


class DocumentBytes:
    """As :class:`lazyentity._backend.wireformats.DocumentBytes`."""

    __slots__ = ("_response", "_time_number", "raw")

    raw: bytes
    _time_number: int
    _response: Any

    @classmethod
    def of(cls, raw: bytes, read_time_number: int, response: Any) -> Any:
        """As :meth:`lazyentity._backend.wireformats.DocumentBytes.of`."""
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
        """As :meth:`lazyentity._backend.wireformats.DocumentBytes.again`."""
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
        """As :attr:`lazyentity._backend.wireformats.DocumentBytes.name`."""
        name: str = self._part(1).name
        return name

    def is_in(self, collection: str) -> bool:
        """As :meth:`lazyentity._backend.wireformats.DocumentBytes.is_in`."""
        return self.name.rpartition("/")[:2] == (collection, "/")

    @property
    def read_time(self) -> Any:
        """As :attr:`lazyentity._backend.wireformats.DocumentBytes.read_time`."""
        time = self._part(self._time_number)
        return None if time is None else timestamp_from_message(time)

    @property
    def create_time(self) -> Any:
        """As :attr:`lazyentity._backend.wireformats.DocumentBytes.create_time`."""
        return self._time("create_time")

    @property
    def update_time(self) -> Any:
        """As :attr:`lazyentity._backend.wireformats.DocumentBytes.update_time`."""
        return self._time("update_time")

    def decoded_fields(self, reader: DocumentReader, client: Any) -> Any:
        """As :meth:`lazyentity._backend.wireformats.DocumentBytes.decoded_fields`."""
        return reader._map(self._part(1).fields, client)

    def decoded_value(self, reader: DocumentReader, client: Any, names: Sequence[str]) -> Any:
        """As :meth:`lazyentity._backend.wireformats.DocumentBytes.decoded_value`."""
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
