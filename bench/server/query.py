"""Queries of Datastore: the criteria of a Query message, and the ordered rows that answer it.

Three things are simpler than in Datastore. Each filter on an array may be satisfied by another
element; a projection has all elements, also those that no filter admits; and without orders the
results are ordered by key, also if a filter is an inequality. A query that Datastore would refuse
may be answered.
"""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from google.protobuf.message import DecodeError

from . import wire
from .criteria import COMPARISONS, Position, is_after, passes, sort
from .errors import invalid_argument, unimplemented
from .keys import (
    KEY_PROPERTY,
    SCATTER_PROPERTY,
    EntityKey,
    IndexedValue,
    SortKey,
    index_properties,
    key_value,
    scatter_value,
    sort_key,
)
from .schema import ArrayValue, Entity, EntityResult, Key, Message, enum_name, refuse, timestamp


# Frozen ones take several times as long to make.
@dataclass(eq=False)
class Record:
    """One committed version of an entity. Times are nanoseconds since the epoch."""

    key: EntityKey
    key_wire: bytes
    """The Key message, serialised."""
    wire: bytes
    """The Entity message, serialised."""
    version: int
    create_time: int
    update_time: int

    def values(self, name: str) -> Sequence[IndexedValue]:
        """The values of a property under which the entity is found.

        The entity is parsed only for its own properties, which a query of a range of keys does not
        ask for.
        """
        if name == KEY_PROPERTY:
            return (self.key_value,)
        if name == SCATTER_PROPERTY:
            return (scatter_value(self.key),)
        return self._index.get(name, ())

    @cached_property
    def _index(self) -> Mapping[str, tuple[IndexedValue, ...]]:
        return index_properties(Entity.FromString(self.wire))

    @cached_property
    def key_value(self) -> IndexedValue:
        """The value of ``__key__``."""
        return key_value(self.key, Key.FromString(self.key_wire))

    @cached_property
    def result_tail(self) -> bytes:
        """The fields of a full EntityResult that come after the entity and the cursor."""
        return _result_tail(self.version, self.create_time, self.update_time)


# The entities of a commit mostly share all of them.
@functools.lru_cache(maxsize=1024)
def _result_tail(version: int, create_time: int, update_time: int) -> bytes:
    result = EntityResult(
        version=version, create_time=timestamp(create_time), update_time=timestamp(update_time)
    )
    return bytes(result.SerializeToString())


def _has_ancestor(value: SortKey, operand: SortKey) -> bool:
    key: EntityKey = value[1]
    ancestor: EntityKey = operand[1]
    return key.partition == ancestor.partition and key.path[: len(ancestor.path)] == ancestor.path


# The order is one over all types, as in a Datastore index: ``x < 5`` lets a null through.
_TESTS = {**COMPARISONS, "HAS_ANCESTOR": _has_ancestor}


def _holds(condition: Message, record: Record) -> bool:
    """Whether a condition holds for a value of the property.

    Raises INVALID_ARGUMENT for a value that has no order.
    """
    name, operator = condition.property.name, enum_name(condition, "op")
    is_listed = operator in ("IN", "NOT_IN")
    given = condition.value.array_value.values if is_listed else [condition.value]
    operands = [order for order in map(sort_key, given) if order is not None]
    if len(operands) < len(given):
        raise invalid_argument(f"the filter on {name!r} compares with a value without an order")
    values = (value.order for value in record.values(name))
    if is_listed:
        return any((value in operands) == (operator == "IN") for value in values)
    return any(_TESTS[operator](value, operands[0]) for value in values)


@dataclass(frozen=True)
class Row:
    """One result of a query. A projection makes one of each combination of array elements."""

    record: Record
    place: tuple[IndexedValue, ...]
    """The row's ordered values, its key, its projected values."""
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


class Query:
    """The criteria of a Query message.

    Raises UNIMPLEMENTED for a query that this server cannot answer: vector search and the metadata
    kinds.
    """

    def __init__(self, message: Message) -> None:
        refuse(message, "find_nearest")
        self.kind = (message.kind[0].name or None) if message.kind else None
        if self.kind is not None and self.kind.startswith("__"):
            raise unimplemented(f"queries for the metadata kind {self.kind!r}")
        projected = [projection.property.name for projection in message.projection]
        self.projection = [name for name in projected if name != KEY_PROPERTY]
        self.is_keys_only = projected == [KEY_PROPERTY]
        self.orders = {
            order.property.name: enum_name(order, "direction") == "DESCENDING"
            for order in message.order
        }
        """Whether it is descending, by the property's name."""
        self.offset: int = message.offset
        self.limit: int | None = message.limit.value if message.HasField("limit") else None
        self.message = message
        self._descending = [*self.orders.values(), *[False] * (1 + len(self.projection))]

    def run(self, records: Iterable[Record]) -> Results:
        """The rows that answer the query, out of the records of its partition and kind."""
        rows = [row for record in records for row in self._rows_of(record)]
        sort(rows, attrgetter("position"), self._descending)
        if self.message.distinct_on:
            names = [reference.name for reference in self.message.distinct_on]
            first: dict[Position, Row] = {}
            for row in rows:
                first.setdefault(tuple(row.projected[name].order for name in names), row)
            rows = list(first.values())
        start, end = self.message.start_cursor, self.message.end_cursor
        from_row = self._after(rows, start) if start else 0
        to_row = self._after(rows, end) if end else len(rows)
        return Results(rows[from_row:to_row], more_after_cursor=to_row < len(rows))

    def _rows_of(self, record: Record) -> Iterator[Row]:
        if not passes(self.message.filter, functools.partial(_holds, record=record)):
            return
        values = {name: sorted(record.values(name)) for name in {*self.orders, *self.projection}}
        # An entity without a property that is used is not in the index that Datastore would read.
        if not all(values.values()):
            return
        for combination in itertools.product(*(values[name] for name in self.projection)):
            projected = dict(zip(self.projection, combination, strict=True))
            ordered = (
                projected.get(name) or values[name][-1 if is_descending else 0]
                for name, is_descending in self.orders.items()
            )
            yield Row(record, (*ordered, record.key_value, *combination), projected)

    def _after(self, rows: list[Row], cursor: bytes) -> int:
        """How many rows there are up to a cursor.

        Raises INVALID_ARGUMENT when this query has not returned it.
        """
        try:
            values = ArrayValue.FromString(cursor).values
        except DecodeError:
            values = []
        bound = tuple(map(sort_key, values))
        if len(bound) != len(self._descending):
            raise invalid_argument("a cursor is not one that this query has returned")
        is_passed = functools.partial(
            is_after, cursor=bound, descending=self._descending, at_cursor=False
        )
        return bisect_left(rows, True, key=lambda row: is_passed(row.position))
