"""Handing a lazy and a stock entity to the same consumer."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Mapping
from typing import Any

from google.cloud.datastore.entity import Entity

from lazyentity import LazyEntity
from tests.support.snapshots import Raised, geo_points_without_address, outcome, snapshot
from tests.support.stock import in_order_of, stock_entity

Consumer = Callable[[Any], Any]

COPIES: dict[str, Consumer] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda entity: pickle.loads(pickle.dumps(entity)),
}
"""Ways to copy an entity."""


def holding(value: Any) -> Entity:
    """Return a stock entity that holds a value."""
    holder = Entity()
    holder["value"] = value
    return holder


def _pickled(protocol: int) -> Consumer:
    return lambda entity: pickle.loads(pickle.dumps(entity, protocol))


PICKLES = {
    f"pickle protocol {number}": _pickled(number) for number in range(pickle.HIGHEST_PROTOCOL + 1)
}


def assert_consumed_alike(consume: Consumer, lazy: LazyEntity, raw: bytes) -> None:
    """Check that ``consume`` gives, raises and leaves behind the same with both kinds of entity."""
    stock = in_order_of(type(lazy).from_bytes(raw), stock_entity(raw))
    with geo_points_without_address():
        result = outcome(consume, lazy)
        expected = outcome(consume, stock)
    assert describe(result) == describe(expected)
    assert snapshot(lazy) == snapshot(stock)


def describe(result: Any) -> Any:
    """Return ``result`` as plain structures: exact types, values, and order where there is one.

    Raises:
        AssertionError: if it holds an object that no consumer may get.
    """
    if isinstance(result, Raised):
        return result.kind, _neutral(result.text)
    kind = type(result)
    if kind is str:
        return kind, _neutral(result)
    if kind in (set, frozenset):
        return kind, {(type(item), item) for item in result}
    if isinstance(result, (list, tuple)):
        return kind, [describe(item) for item in result]
    if isinstance(result, Mapping) and not isinstance(result, Entity):
        order = list(result)
        return kind, order, {name: describe(result[name]) for name in order}
    return snapshot(result)


def _neutral(text: str) -> str:
    """Return ``text`` without the intended difference: the name of the class."""
    return re.sub(r"[\w.]*\b(Lazy)?Entity\b", "Entity", text)
