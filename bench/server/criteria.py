"""Filters, orders and cursors of queries, for both servers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .schema import Message, enum_name

Row = TypeVar("Row")
Position = tuple[Any, ...]
"""The values by which a row is ordered."""

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQUAL": operator.eq,
    "NOT_EQUAL": operator.ne,
    "LESS_THAN": operator.lt,
    "LESS_THAN_OR_EQUAL": operator.le,
    "GREATER_THAN": operator.gt,
    "GREATER_THAN_OR_EQUAL": operator.ge,
}
"""The operators of filters that compare two values."""


def passes(where: Message, holds: Callable[[Message], bool]) -> bool:
    """Whether a row passes a Filter message; ``holds`` tests one condition on it."""
    case = where.WhichOneof("filter_type")
    if case is None:
        return True
    if case != "composite_filter":
        return holds(getattr(where, case))
    combine = any if enum_name(where.composite_filter, "op") == "OR" else all
    return combine(passes(part, holds) for part in where.composite_filter.filters)


def sort(rows: list[Row], position: Callable[[Row], Position], descending: Sequence[bool]) -> None:
    """Sort rows by their positions, each value in its direction."""
    # Stable sorts from the least to the most significant value.
    for place in reversed(range(len(descending))):
        rows.sort(key=lambda row: position(row)[place], reverse=descending[place])


def is_after(
    position: Position, cursor: Position, descending: Sequence[bool], *, at_cursor: bool
) -> bool:
    """Whether a position is after a cursor, which may have the first values only.

    Args:
        position: of a row.
        cursor: another position.
        descending: the directions.
        at_cursor: the answer for a position that is neither before the cursor nor after it.
    """
    for mine, other, is_descending in zip(position, cursor, descending, strict=False):
        if mine != other:
            return bool(mine > other) != is_descending
    return at_cursor
