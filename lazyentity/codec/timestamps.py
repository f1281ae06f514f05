"""Timestamps, made as ``DatetimeWithNanoseconds`` makes them but without its Python constructors."""

from __future__ import annotations

import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from proto.datetime_helpers import DatetimeWithNanoseconds

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_NANOS_PER_SECOND = 1_000_000_000


def _direct(message: Any) -> DatetimeWithNanoseconds:
    nanos = message.nanos
    if not 0 <= nanos < _NANOS_PER_SECOND:
        return DatetimeWithNanoseconds.from_timestamp_pb(message)
    # from_timestamp_pb() goes through a float number of microseconds and keeps the whole seconds of
    # what comes out, which far from 1970 is not always the second that went in.
    bare = _EPOCH + datetime.timedelta(microseconds=int(message.seconds * 1e6))
    stamp = datetime.datetime.__new__(
        DatetimeWithNanoseconds,
        bare.year,
        bare.month,
        bare.day,
        bare.hour,
        bare.minute,
        bare.second,
        nanos // 1000,
        datetime.timezone.utc,
    )
    stamp._nanosecond = nanos
    return stamp


def _direct_agrees() -> bool:
    """Say whether the installed proto-plus keeps in a stamp what :func:`_direct` sets, and no more."""
    message = Timestamp(seconds=1_234_567_890, nanos=123_456_789)
    stock = DatetimeWithNanoseconds.from_timestamp_pb(message)
    try:
        direct = _direct(message)
    except (AttributeError, TypeError):
        return False
    return stock == direct and stock.nanosecond == direct.nanosecond and not hasattr(stock, "__dict__")


DIRECT = _direct_agrees()
"""Whether stamps may be made by setting ``_nanosecond`` on a datetime made of the class."""

timestamp_from_message = _direct if DIRECT else DatetimeWithNanoseconds.from_timestamp_pb
"""Convert a ``google.protobuf.Timestamp`` message exactly as the client does.

Raises:
    ValueError, OverflowError: as ``DatetimeWithNanoseconds.from_timestamp_pb`` raises them.
"""
