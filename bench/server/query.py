"""Queries: the criteria of a Query message, and the ordered rows that answer it.

Three things are simpler than in Datastore. Each filter on an array may be satisfied by another
element; a projection has all elements, also those that no filter admits; and without orders the
results are ordered by key, also if a filter is an inequality. A query that Datastore would refuse
may be answered.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from google.protobuf.message import DecodeError

from . import wire
from .errors import invalid_argument, unimplemented
from .keys import (
    KEY_PROPERTY,
    EntityKey,
    IndexedValue,
    Partition,
    Scope,
    SortKey,
    resolve_key,
    sort_key,
)
from .schema import ArrayValue, Message, enum_name, refuse
from .store import Record

Filter = Callable[[Record], bool]
"""Whether an entity passes."""


def _has_ancestor(value: SortKey, operands: Sequence[SortKey]) -> bool:
    key: EntityKey = value[1]
    ancestor: EntityKey = operands[0][1]
    return key.partition == ancestor.partition and key.path[: len(ancestor.path)] == ancestor.path


# The order is one over all types, as in a Datastore index: ``x < 5`` lets a null through.
_TESTS: dict[str, Callable[[SortKey, Sequence[SortKey]], bool]] = {
    "EQUAL": lambda value, operands: value == operands[0],
    "IN": lambda value, operands: value in operands,
    "HAS_ANCESTOR": _has_ancestor,
    "LESS_THAN": lambda value, operands: value < operands[0],
    "LESS_THAN_OR_EQUAL": lambda value, operands: value <= operands[0],
    "GREATER_THAN": lambda value, operands: value > operands[0],
    "GREATER_THAN_OR_EQUAL": lambda value, operands: value >= operands[0],
    "NOT_EQUAL": lambda value, operands: value != operands[0],
    "NOT_IN": lambda value, operands: value not in operands,
}
_TAKE_ARRAYS = ("IN", "NOT_IN")


def parse_filter(message: Message, scope: Scope) -> Filter:
    """The filter of a Filter message.

    Raises INVALID_ARGUMENT for an operator that is none, and for a value that has no order.
    """
    if message.WhichOneof("filter_type") == "composite_filter":
        parts = [parse_filter(part, scope) for part in message.composite_filter.filters]
        combine = any if enum_name(message.composite_filter, "op") == "OR" else all
        return lambda record: combine(part(record) for part in parts)
    condition = message.property_filter
    name, operator = condition.property.name, enum_name(condition, "op")
    if operator not in _TESTS:
        raise invalid_argument(f"the filter on {name!r} has no valid operator")
    given = condition.value
    values = given.array_value.values if operator in _TAKE_ARRAYS else [given]
    operands: list[SortKey] = []
    for value in values:
        if name == KEY_PROPERTY:
            resolve_key(value.key_value, scope)
        order = sort_key(value)
        if order is None:
            raise invalid_argument(f"the filter on {name!r} compares with a value without an order")
        operands.append(order)
    test = _TESTS[operator]
    return lambda record: any(test(value.order, operands) for value in record.values(name))


Position = tuple[SortKey, ...]
"""The position of a row: its ordered values, its key, its projected values."""


@dataclass(frozen=True)
class Order:
    """One sort order."""

    name: str
    """Of the property."""
    descending: bool


@dataclass(frozen=True)
class Row:
    """One result of a query. A projection makes one of each combination of array elements."""

    record: Record
    place: tuple[IndexedValue, ...]
    projected: Mapping[str, IndexedValue]
    """Values by property name; empty unless the query is a projection."""

    @cached_property
    def position(self) -> Position:
        """Compares as the rows do, once directions are taken into account."""
        return tuple(value.order for value in self.place)

    @property
    def cursor(self) -> bytes:
        """Opaque to clients: the row's values, so that the cursor outlives the row's entity."""
        return wire.array(value.wire for value in self.place)


@dataclass(frozen=True)
class Results:
    """The ordered rows between a query's cursors, before offset and limit."""

    rows: list[Row]
    more_after_cursor: bool
    """Whether the end cursor cut rows off."""


@dataclass(frozen=True)
class Query:
    """The criteria of a query. An empty cursor is the start, or no end."""

    partition: Partition
    kind: str | None
    filter: Filter | None
    orders: list[Order]
    projection: list[str]
    keys_only: bool
    distinct_on: list[str]
    start_cursor: bytes
    end_cursor: bytes
    offset: int
    limit: int | None

    def run(self, records: Iterable[Record]) -> Results:
        """The rows that answer the query, out of the records of its partition and kind."""
        rows = [row for record in records for row in self._rows_of(record)]
        descending = self._descending
        if any(descending):
            # Stable sorts from the least to the most significant value.
            for place in reversed(range(len(descending))):
                rows.sort(key=lambda row: row.position[place], reverse=descending[place])
        else:
            rows.sort(key=lambda row: row.position)
        if self.distinct_on:
            first: dict[Position, Row] = {}
            for row in rows:
                first.setdefault(tuple(row.projected[name].order for name in self.distinct_on), row)
            rows = list(first.values())
        start = self._after(rows, self.start_cursor) if self.start_cursor else 0
        end = self._after(rows, self.end_cursor) if self.end_cursor else len(rows)
        return Results(rows[start:end], more_after_cursor=end < len(rows))

    def _rows_of(self, record: Record) -> Iterator[Row]:
        if self.filter is not None and not self.filter(record):
            return
        used = {*(order.name for order in self.orders), *self.projection}
        values = {name: sorted(record.values(name)) for name in used}
        # An entity without a property that is used is not in the index that Datastore would read.
        if not all(values.values()):
            return
        for combination in itertools.product(*(values[name] for name in self.projection)):
            projected = dict(zip(self.projection, combination, strict=True))
            ordered = (
                projected.get(order.name) or values[order.name][-1 if order.descending else 0]
                for order in self.orders
            )
            yield Row(record, (*ordered, record.key_value, *combination), projected)

    @cached_property
    def _descending(self) -> list[bool]:
        ascending = itertools.repeat(False, 1 + len(self.projection))
        return [*(order.descending for order in self.orders), *ascending]

    def _after(self, rows: list[Row], cursor: bytes) -> int:
        position = self._read_cursor(cursor)

        def passed(row: Row) -> bool:
            for mine, other, descending in zip(
                row.position, position, self._descending, strict=True
            ):
                if mine != other:
                    return (mine > other) != descending
            return False

        return bisect_left(rows, True, key=passed)

    def _read_cursor(self, cursor: bytes) -> Position:
        try:
            values = ArrayValue.FromString(cursor).values
        except DecodeError:
            values = []
        position = tuple(order for order in map(sort_key, values) if order is not None)
        if len(position) != len(self._descending):
            raise invalid_argument("a cursor is not one that this query has returned")
        return position


def parse_query(message: Message, partition: Partition, scope: Scope) -> Query:
    """The criteria of a Query message.

    Raises INVALID_ARGUMENT as :func:`parse_filter`, UNIMPLEMENTED for a query that this server
    cannot answer: vector search and the metadata kinds.
    """
    refuse(message, "find_nearest")
    kind = (message.kind[0].name or None) if message.kind else None
    if kind is not None and kind.startswith("__"):
        raise unimplemented(f"queries for the metadata kind {kind!r}")
    projected = [projection.property.name for projection in message.projection]
    return Query(
        partition=partition,
        kind=kind,
        filter=parse_filter(message.filter, scope) if message.HasField("filter") else None,
        orders=[
            Order(order.property.name, enum_name(order, "direction") == "DESCENDING")
            for order in message.order
        ],
        projection=[name for name in projected if name != KEY_PROPERTY],
        keys_only=projected == [KEY_PROPERTY],
        distinct_on=[reference.name for reference in message.distinct_on],
        start_cursor=message.start_cursor,
        end_cursor=message.end_cursor,
        offset=message.offset,
        limit=message.limit.value if message.HasField("limit") else None,
    )
