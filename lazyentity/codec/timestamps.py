"""Timestamps, as ``DatetimeWithNanoseconds`` makes them but without its slow constructors."""

from __future__ import annotations

import datetime
import time
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from proto.datetime_helpers import DatetimeWithNanoseconds

# A datetime can hold the years 1 to 9999. The float number of microseconds that
# from_timestamp_pb() goes through is exact there, as a multiple of 64 below 2**59.
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799
_NANOS_PER_SECOND = 1_000_000_000


def _direct(message: Any) -> DatetimeWithNanoseconds:
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


def _direct_agrees() -> bool:
    """Say whether a timestamp of proto-plus has the attributes of :func:`_direct` only."""
    message = Timestamp(seconds=1_234_567_890, nanos=123_456_789)
    stock = DatetimeWithNanoseconds.from_timestamp_pb(message)
    try:
        direct = _direct(message)
    except (AttributeError, TypeError):
        return False
    return (
        stock == direct and stock.nanosecond == direct.nanosecond and not hasattr(stock, "__dict__")
    )


DIRECT = _direct_agrees()
"""Whether timestamps may be made by setting ``_nanosecond`` on a datetime made of the class."""

timestamp_from_message = _direct if DIRECT else DatetimeWithNanoseconds.from_timestamp_pb
"""Convert a ``google.protobuf.Timestamp`` message exactly as the client does.

Raises:
    ValueError, OverflowError: as ``DatetimeWithNanoseconds.from_timestamp_pb`` raises them.
"""
