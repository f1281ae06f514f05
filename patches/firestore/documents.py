"""The reader of documents, with values that the client makes, and the client's conversion."""

from __future__ import annotations

import copy
from typing import Any

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.types import document as document_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from lazyentity.native.backend import DocumentReader

_MapValue = document_pb2.MapValue.pb()


def stock_values(fields: Any, client: Any) -> Any:
    """Convert a protobuf map of values as the client does; the result is the caller's own.

    A snapshot copies what was converted, and copies it again for ``to_dict()``. (A copy of a
    timestamp has no nanoseconds.)

    Raises:
        ValueError: as the client raises it, for a value without a type and for a reference to
            another database.
    """
    return copy.deepcopy(_helpers.decode_dict(fields, client))


def _other_map(raw: bytes, client: Any) -> Any:
    return stock_values(_MapValue.FromString(raw).fields, client)


def _timestamp_type() -> type[DatetimeWithNanoseconds] | None:
    """Return the class of timestamps, if the backend makes of it what copies are."""
    stock = copy.deepcopy(
        DatetimeWithNanoseconds.from_timestamp_pb(
            Timestamp(seconds=1_234_567_890, nanos=123_456_789)
        )
    )
    is_known = (
        getattr(stock, "_nanosecond", None) == 0
        and stock.microsecond == 123_456
        and not hasattr(stock, "__dict__")
    )
    return DatetimeWithNanoseconds if is_known else None


def _reference(name: str, client: Any) -> Any:
    return copy.copy(_helpers.reference_value_to_document(name, client))


READER = DocumentReader(
    geo_point=_helpers.GeoPoint,
    reference=_reference,
    other_map=_other_map,
    timestamp=_timestamp_type(),
)
