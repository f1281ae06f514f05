"""Columns: the values of the same properties of many entities."""

from __future__ import annotations

import array
import datetime
from collections.abc import Callable, Iterable
from typing import Any

from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.pure.mapping import LazyMapping

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
# Other subclasses need not keep the date in the fields that the native backend reads.
_TIMESTAMPS = (datetime.datetime, DatetimeWithNanoseconds)


def append_columns(
    entities: Iterable[Any],
    names: tuple[str, ...],
    columns: list[list[Any]],
    copy: Callable[[Any], Any],
    other: Callable[[Any], list[Any]],
    keys: list[Any] | None = None,
    key_of: Callable[[Any], Any] | None = None,
    refuse: Callable[[Any, str], object] | None = None,
) -> None:
    """As :meth:`lazyentity._backend.protocols.Backend.append_columns`."""
    if len(columns) != len(names):
        raise ValueError(f"{len(columns)} columns for {len(names)} names")
    for entity in entities:
        is_ours = isinstance(entity, LazyMapping)
        if is_ours and refuse is not None:
            for name in names:
                if not dict.__contains__(entity, name):
                    refuse(entity, name)
        values = _values(entity, names, copy) if is_ours else other(entity)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
        if keys is not None and key_of is not None:
            keys.append(key_of(entity))


def _values(entity: Any, names: tuple[str, ...], copy: Callable[[Any], Any]) -> list[Any]:
    present = [name for name in names if dict.__contains__(entity, name)]
    # Without a name, it would give all properties.
    values = entity._plain_values(present, copy, "columns()") if present else {}
    return [values.get(name) for name in names]


def fixed_width(values: list[Any]) -> tuple[type, bytearray] | None:
    """As :meth:`lazyentity._backend.protocols.Backend.fixed_width`."""
    kinds = set(map(type, values))
    if kinds == {bool}:
        return bool, bytearray(values)
    if kinds == {float}:
        return float, bytearray(array.array("d", values))
    if kinds == {int}:
        try:
            return int, bytearray(array.array("q", values))
        except OverflowError:
            return None
    if not kinds or not all(map(_is_in_utc, values)):
        return None
    microseconds = [(value - _EPOCH) // _MICROSECOND for value in values]
    return datetime.datetime, bytearray(array.array("q", microseconds))


def _is_in_utc(value: Any) -> bool:
    return type(value) in _TIMESTAMPS and value.tzinfo is datetime.timezone.utc
