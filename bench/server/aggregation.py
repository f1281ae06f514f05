"""Aggregations over the rows of a query."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf import struct_pb2

from .errors import invalid_argument
from .query import Row
from .schema import Message, Value

MAX_AGGREGATIONS = 5
_INT64 = range(-(2**63), 2**63)

Number = int | float


def _numbers(rows: Sequence[Row], name: str) -> list[Number]:
    """The indexed numbers of a property, one an entity; other values are left out."""
    numbers: list[Number] = []
    for row in rows:
        values = row.record.index.get(name, ())
        if len(values) == 1:
            value = Value.FromString(values[0].wire)
            kind = value.WhichOneof("value_type")
            if kind in ("integer_value", "double_value"):
                numbers.append(getattr(value, kind))
    return numbers


def _sum(numbers: Sequence[Number]) -> Message:
    if all(isinstance(number, int) for number in numbers):
        total = sum(numbers)
        if total in _INT64:
            return Value(integer_value=total)
    return Value(double_value=sum(map(float, numbers)))


def _avg(numbers: Sequence[Number]) -> Message:
    if not numbers:
        return Value(null_value=struct_pb2.NULL_VALUE)
    return Value(double_value=sum(map(float, numbers)) / len(numbers))


def _aggregate(aggregation: Message, rows: Sequence[Row]) -> Message:
    operator = aggregation.WhichOneof("operator")
    if operator == "count":
        count = len(rows)
        if aggregation.count.HasField("up_to"):
            if aggregation.count.up_to.value < 0:
                raise invalid_argument("up_to must not be negative")
            count = min(count, aggregation.count.up_to.value)
        return Value(integer_value=count)
    if operator is None:
        raise invalid_argument("an aggregation must have an operator")
    name = getattr(aggregation, operator).property.name
    if not name:
        raise invalid_argument(f"{operator} must name a property")
    return (_sum if operator == "sum" else _avg)(_numbers(rows, name))


def aggregate(aggregations: Sequence[Message], rows: Sequence[Row]) -> dict[str, Message]:
    """The Value of each Aggregation message over ``rows``, by alias.

    Raises INVALID_ARGUMENT for none or too many aggregations, and for aliases that collide.
    """
    if not 0 < len(aggregations) <= MAX_AGGREGATIONS:
        raise invalid_argument(f"a query takes 1 to {MAX_AGGREGATIONS} aggregations")
    values: dict[str, Message] = {}
    unnamed = 0
    for aggregation in aggregations:
        alias = aggregation.alias
        if not alias:
            unnamed += 1
            alias = f"property_{unnamed}"
        if alias in values:
            raise invalid_argument(f"two aggregations have the alias {alias!r}")
        values[alias] = _aggregate(aggregation, rows)
    return values
