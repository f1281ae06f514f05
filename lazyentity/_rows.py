"""Iterators of a client that know how to give rows, from which columns are made, for entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

_GIVING_ROWS: list[tuple[type, Callable[[Any], Iterator[Any]]]] = []


def register(kind: type, rows: Callable[[Any], Iterator[Any]]) -> None:
    """Have :func:`rows_of` call a function for the instances of a class.

    Args:
        kind: the class, without its subclasses.
        rows: returns an iterator over the rows of the backend, or entities in place of some or all.
    """
    _GIVING_ROWS.append((kind, rows))


def rows_of(entities: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator over entities that may give rows in place of some or all.

    Raises:
        Exception: as ``iter(entities)`` raises it.
    """
    for kind, rows in _GIVING_ROWS:
        if type(entities) is kind:
            return rows(entities)
    return iter(entities)
