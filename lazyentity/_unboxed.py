"""Iterators of a client that give unboxed entities, from which columns are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

_GIVING_UNBOXED: list[tuple[type, Callable[[Any], Iterator[Any]]]] = []


def register(kind: type, unboxed: Callable[[Any], Iterator[Any]]) -> None:
    """Have :func:`unboxed_of` call a function for the instances of a class.

    Args:
        kind: the class, without its subclasses.
        unboxed: returns an iterator over unboxed entities; some or all may be entities.
    """
    _GIVING_UNBOXED.append((kind, unboxed))


def unboxed_of(entities: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator over entities, some or all of which may be unboxed.

    Raises:
        Exception: as ``iter(entities)`` raises it.
    """
    for kind, unboxed in _GIVING_UNBOXED:
        if type(entities) is kind:
            return unboxed(entities)
    return iter(entities)
