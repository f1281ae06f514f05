"""Responses with one document, which is bytes until somebody asks for its fields.

They are proxies of the client's proto-plus messages: see :mod:`lazyentity.patches.api.proxies`.
"""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from google.cloud.firestore_v1.types import firestore as firestore_pb2, query_profile
from google.protobuf.timestamp_pb2 import Timestamp

from lazyentity.native.documents import DocumentBytes
from lazyentity.patches.api.proxies import MessageProxy

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class DocumentResponse(MessageProxy, DocumentBytes):
    """A response with a document and the time of the read.

    The stub of a method that streams gives these in place of the messages that hold nothing else.
    """

    __slots__ = ("_is_eager", "_is_whole", "_message")

    _read_time_number: ClassVar[int]
    _bare_type: ClassVar[Any]
    _is_eager: bool
    """Whether a stock snapshot is made of it."""
    _is_whole: bool
    """Whether the real message was made. Somebody may have changed it since."""

    def __init_subclass__(cls) -> None:
        cls._bare_type = cls._real.pb()
        cls._read_time_number = cls._bare_type.DESCRIPTOR.fields_by_name["read_time"].number

    @classmethod
    def deserialize(cls, raw: bytes, is_eager: bool = False) -> Any:
        """Make a response of the bytes that a server sent; the real message, if it has other parts.

        Raises:
            google.protobuf.message.DecodeError: if ``raw`` is malformed, but for the fields.
        """
        response = cls.from_bytes(raw, cls._read_time_number)
        if response is None:
            return cls._real.deserialize(raw)
        response._is_eager, response._is_whole = is_eager, False
        return response

    @classmethod
    def deserialize_for_eager(cls, raw: bytes) -> Any:
        """As :meth:`deserialize`; a stock snapshot is made of the response.

        Raises:
            google.protobuf.message.DecodeError: if ``raw`` is malformed.
        """
        # A stock snapshot tells of malformed fields here.
        cls._bare_type.FromString(raw)
        return cls.deserialize(raw, True)

    def _make(self) -> Any:
        self._is_whole = True
        return self._real.deserialize(self.raw)


class _NoMetrics(MessageProxy):
    """A proxy of an empty ``google.firestore.v1.ExplainMetrics``; it makes a new one on demand."""

    __slots__ = ()
    _real = query_profile.ExplainMetrics

    def _whole(self) -> Any:
        return self._real()

    def __bool__(self) -> bool:
        return False


NO_METRICS = object.__new__(_NoMetrics)


class QueryResponse(DocumentResponse):
    """A proxy of a ``google.firestore.v1.RunQueryResponse``."""

    __slots__ = ()

    _real = firestore_pb2.RunQueryResponse

    explain_metrics = NO_METRICS
    """False, as an empty message is: the client asks each response."""

    def time_messages(self) -> list[Timestamp]:
        """Return the times of the read, of the creation and of the last update, as messages."""
        return list(map(_time_message, self.times()))


def _time_message(time: Any) -> Timestamp:
    if time is None:
        return Timestamp()
    since = time - _EPOCH
    return Timestamp(seconds=since.days * 86400 + since.seconds, nanos=time.nanosecond)


class BatchGetResponse(DocumentResponse):
    """A proxy of a ``google.firestore.v1.BatchGetDocumentsResponse``."""

    __slots__ = ()

    _real = firestore_pb2.BatchGetDocumentsResponse


RESPONSES = frozenset((QueryResponse, BatchGetResponse))
"""The classes of responses with one document."""
