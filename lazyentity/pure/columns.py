"""Columns: the values of the same properties of many entities."""

from __future__ import annotations

import array
import datetime
from collections.abc import Callable, Iterable
from typing import Any

from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec import fallback
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.codec.values import plain_value
from lazyentity.pure.index import split_again
from lazyentity.pure.mapping import LazyMapping

_stored = dict.get

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
    """As :meth:`lazyentity._backend.abc.Backend.append_columns`."""
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
    values = [_stored(entity, name) for name in names]
    undecoded = [index for index, value in enumerate(values) if value is UNDECODED]
    for index, value in enumerate(values):
        if isinstance(value, (dict, list)):
            values[index] = copy(value)
    if not undecoded:
        return values
    entity._require_received([names[index] for index in undecoded])
    if entity._policy is not None:
        entity._policy.refuse(entity, names[undecoded[0]])
    raw, split = entity._raw, entity._split
    try:
        parsed = split.parsed.pop()
    except IndexError:
        parsed = split_again(split, raw, entity._shape.ordinals)
    for index in undecoded:
        name = names[index]
        value = fallback.convert(raw, name, parsed[name], type(entity)._from_raw)
        values[index] = plain_value(value)
    entity._give_back(parsed)
    if entity._entity_counts is not None:
        entity._entity_counts.decode([names[index] for index in undecoded], "columns()")
    return values


def fixed_width(values: list[Any]) -> tuple[type, bytearray] | None:
    """As :meth:`lazyentity._backend.abc.Backend.fixed_width`."""
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
