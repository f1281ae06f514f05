"""Query filters as alternatives of conditions, and the values that let an entity through.

A filter is kept as Datastore plans it: in disjunctive normal form. This form decides how arrays
match: within one alternative a single element must satisfy all inequalities on a property, while
each equality may be satisfied by another element.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .errors import invalid_argument
from .keys import EntityKey, Scope, resolve_key
from .schema import Message, enum_name
from .values import KEY_PROPERTY, IndexedValue, SortKey, sort_key

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
