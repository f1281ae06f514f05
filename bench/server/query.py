"""Queries: the criteria of a Query message, and the ordered rows that answer it.

A filter is kept as Datastore plans it: in disjunctive normal form, as alternatives of conditions.
This form decides how arrays match: within one alternative a single element must satisfy all
inequalities on a property, while each equality may be satisfied by another element.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
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

MAX_ALTERNATIVES = 30
"""Datastore's limit on disjunctions, here counted before IN is expanded."""
_MAX_OPERANDS = {"IN": 30, "NOT_IN": 10}

Index = Mapping[str, Sequence[IndexedValue]]


def _has_ancestor(value: SortKey, operands: Sequence[SortKey]) -> bool:
    key: EntityKey = value[1]
    ancestor: EntityKey = operands[0][1]
    return key.partition == ancestor.partition and key.path[: len(ancestor.path)] == ancestor.path


_Test = Callable[[SortKey, Sequence[SortKey]], bool]

# The order is one over all types, as in a Datastore index: ``x < 5`` lets a null through.
_EQUALITIES: dict[str, _Test] = {
    "EQUAL": lambda value, operands: value == operands[0],
    "IN": lambda value, operands: value in operands,
    "HAS_ANCESTOR": _has_ancestor,
}
_INEQUALITIES: dict[str, _Test] = {
    "LESS_THAN": lambda value, operands: value < operands[0],
    "LESS_THAN_OR_EQUAL": lambda value, operands: value <= operands[0],
    "GREATER_THAN": lambda value, operands: value > operands[0],
    "GREATER_THAN_OR_EQUAL": lambda value, operands: value >= operands[0],
    "NOT_EQUAL": lambda value, operands: value != operands[0],
    "NOT_IN": lambda value, operands: value not in operands,
}


@dataclass(frozen=True)
class Condition:
    """One property filter."""

    name: str
    """Of the property."""
    operator: str
    operands: tuple[SortKey, ...]

    @property
    def is_inequality(self) -> bool:
        """Whether the condition takes a range of values and so constrains an order."""
        return self.operator in _INEQUALITIES

    def holds(self, value: SortKey) -> bool:
        """Whether one indexed value satisfies the condition."""
        test = (_INEQUALITIES if self.is_inequality else _EQUALITIES)[self.operator]
        return test(value, self.operands)


class Alternative:
    """Conditions that must hold together."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.conditions = conditions
        self.ranges: dict[str, list[Condition]] = {}
        for condition in conditions:
            if condition.is_inequality:
                self.ranges.setdefault(condition.name, []).append(condition)

    def admitted(self, index: Index, name: str) -> list[IndexedValue]:
        """The values of a property that satisfy every inequality on it."""
        conditions = self.ranges.get(name, ())
        return [
            value
            for value in index.get(name, ())
            if all(condition.holds(value.order) for condition in conditions)
        ]

    def matches(self, index: Index) -> bool:
        """Whether an entity with that index satisfies all conditions."""
        return all(self.admitted(index, name) for name in self.ranges) and all(
            any(condition.holds(value.order) for value in index.get(condition.name, ()))
            for condition in self.conditions
            if not condition.is_inequality
        )


def _operands(message: Message, operator: str) -> list[Message]:
    if operator not in _MAX_OPERANDS:
        return [message.value]
    values = message.value.array_value.values
    if not 0 < len(values) <= _MAX_OPERANDS[operator]:
        raise invalid_argument(
            f"{operator} takes an array of 1 to {_MAX_OPERANDS[operator]} values, "
            f"not of {len(values)}"
        )
    return list(values)


def _condition(message: Message, scope: Scope) -> Condition:
    name = message.property.name
    if not name:
        raise invalid_argument("a property filter must name a property")
    operator = enum_name(message, "op")
    if operator not in _EQUALITIES and operator not in _INEQUALITIES:
        raise invalid_argument(f"the filter on {name!r} has no valid operator")
    if operator == "HAS_ANCESTOR" and name != KEY_PROPERTY:
        raise invalid_argument(f"HAS_ANCESTOR filters {KEY_PROPERTY}, not {name!r}")
    orders = []
    for operand in _operands(message, operator):
        if name == KEY_PROPERTY:
            if operand.WhichOneof("value_type") != "key_value":
                raise invalid_argument(f"a filter on {KEY_PROPERTY} compares with keys only")
            resolve_key(operand.key_value, scope)
        order = sort_key(operand)
        if order is None:
            raise invalid_argument(
                f"the filter on {name!r} compares with a value that is never indexed"
            )
        orders.append(order)
    return Condition(name, operator, tuple(orders))


def _alternatives(message: Message, scope: Scope) -> list[list[Condition]]:
    kind = message.WhichOneof("filter_type")
    if kind == "property_filter":
        return [[_condition(message.property_filter, scope)]]
    if kind is None:
        raise invalid_argument("a filter must be composite or on a property")
    composite = message.composite_filter
    operator = enum_name(composite, "op")
    if operator not in ("AND", "OR") or not composite.filters:
        raise invalid_argument("a composite filter must be an AND or an OR of filters")
    parts = [_alternatives(part, scope) for part in composite.filters]
    if operator == "OR":
        alternatives = [alternative for part in parts for alternative in part]
    else:
        # Bounded before it is built: each part may already hold MAX_ALTERNATIVES.
        product = itertools.islice(itertools.product(*parts), MAX_ALTERNATIVES + 1)
        alternatives = [list(itertools.chain.from_iterable(chosen)) for chosen in product]
    if len(alternatives) > MAX_ALTERNATIVES:
        raise invalid_argument(f"a filter may have at most {MAX_ALTERNATIVES} alternatives")
    return alternatives


def parse_filter(message: Message | None, scope: Scope) -> list[Alternative]:
    """The alternatives of a Filter message, of which one must match; None matches everything.

    Raises INVALID_ARGUMENT for a filter that Datastore would not accept.
    """
    if message is None:
        return [Alternative(())]
    return [Alternative(conditions) for conditions in _alternatives(message, scope)]


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
    """A checked query. An empty cursor is the start, or no end."""

    partition: Partition
    kind: str | None
    alternatives: list[Alternative]
    orders: list[Order]
    projection: list[str]
    keys_only: bool
    distinct_on: list[str]
    start_cursor: bytes
    end_cursor: bytes
    offset: int
    limit: int | None

    def matches(self, record: Record) -> bool:
        """Whether the record is of this query's kind and passes its filter."""
        return (
            record.key.partition == self.partition
            and self.kind in (None, record.key.kind)
            and bool(self._matching(record))
        )

    def _matching(self, record: Record) -> list[Alternative]:
        return [
            alternative
            for alternative in self.alternatives
            # Without conditions the entity need not be indexed, that is, parsed.
            if not alternative.conditions or alternative.matches(record.index)
        ]

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

    def _rows_of(self, record: Record) -> Iterable[Row]:
        matching = self._matching(record)
        if not matching:
            return
        values: dict[str, list[IndexedValue]] = {KEY_PROPERTY: [record.key_value]}
        for name in self._used - {KEY_PROPERTY}:
            admitted = {
                value.order: value
                for alternative in matching
                for value in alternative.admitted(record.index, name)
            }
            if not admitted:
                return
            values[name] = sorted(admitted.values())
        for combination in itertools.product(*(values[name] for name in self.projection)):
            projected = dict(zip(self.projection, combination, strict=True))
            ordered = (
                projected.get(order.name) or values[order.name][-1 if order.descending else 0]
                for order in self.orders
            )
            yield Row(record, (*ordered, record.key_value, *combination), projected)

    @cached_property
    def _used(self) -> set[str]:
        return {order.name for order in self.orders} | set(self.projection)

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
        if (
            len(position) != len(self._descending)
            or values[len(self.orders)].WhichOneof("value_type") != "key_value"
        ):
            raise invalid_argument("a cursor is not one that this query has returned")
        return position


def _parse_order(message: Message) -> Order:
    if not message.property.name:
        raise invalid_argument("an order must name a property")
    return Order(message.property.name, enum_name(message, "direction") == "DESCENDING")


def _check_kindless(alternatives: list[Alternative], named: Iterable[str]) -> None:
    filtered = (
        condition.name for alternative in alternatives for condition in alternative.conditions
    )
    for name in itertools.chain(filtered, named):
        if name != KEY_PROPERTY:
            raise invalid_argument(f"a query that uses the property {name!r} must have a kind")


def _check_projection(query: Query) -> None:
    for name in query.distinct_on:
        if name not in query.projection:
            raise invalid_argument(f"distinct on {name!r}, which is not in the projection")
    for alternative in query.alternatives:
        for condition in alternative.conditions:
            if not condition.is_inequality and condition.name in query.projection:
                raise invalid_argument(
                    f"{condition.name!r} cannot be projected and filtered for equality"
                )


def parse_query(message: Message, partition: Partition, scope: Scope) -> Query:
    """The criteria of a Query message.

    Raises INVALID_ARGUMENT for a query that Datastore would not accept, UNIMPLEMENTED for one that
    this server cannot answer: vector search and the metadata kinds.
    """
    refuse(message, "find_nearest")
    if len(message.kind) > 1:
        raise invalid_argument("a query may have one kind at most")
    kind = (message.kind[0].name or None) if message.kind else None
    if kind is not None and kind.startswith("__"):
        raise unimplemented(f"queries for the metadata kind {kind!r}")
    limit = message.limit.value if message.HasField("limit") else None
    if message.offset < 0 or (limit is not None and limit < 0):
        raise invalid_argument("offset and limit must not be negative")

    alternatives = parse_filter(message.filter if message.HasField("filter") else None, scope)
    orders = [_parse_order(order) for order in message.order]
    if not orders and len(alternatives) == 1:
        # Datastore answers an inequality from the index of its property, and so in that order.
        orders = [Order(name, False) for name in alternatives[0].ranges if name != KEY_PROPERTY]
    projected = [projection.property.name for projection in message.projection]
    query = Query(
        partition=partition,
        kind=kind,
        alternatives=alternatives,
        orders=orders,
        projection=[name for name in projected if name != KEY_PROPERTY],
        keys_only=projected == [KEY_PROPERTY],
        distinct_on=[reference.name for reference in message.distinct_on],
        start_cursor=message.start_cursor,
        end_cursor=message.end_cursor,
        offset=message.offset,
        limit=limit,
    )
    if kind is None:
        _check_kindless(alternatives, [*query.projection, *(order.name for order in query.orders)])
    _check_projection(query)
    return query
