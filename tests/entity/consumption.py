"""Handing a lazy and a stock entity to the same consumer."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Mapping
from typing import Any

from google.cloud.datastore.entity import Entity

from lazyentity import LazyEntity
from tests.entity.snapshots import Raised, geo_points_without_address, outcome, snapshot
from tests.entity.stock import in_order_of, stock_entity

Consumer = Callable[[Any], Any]

READ_BEFORE: dict[str, Callable[[LazyEntity], object]] = {
    "undecoded": lambda entity: None,
    "one read": lambda entity: entity["text"],
    "all read": lambda entity: entity.values(),
}
"""How much of the entity was decoded before the consumer gets it."""

COPIES: dict[str, Consumer] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda entity: pickle.loads(pickle.dumps(entity)),
}
"""Ways to make another entity of one."""


def assert_consumed_alike(consume: Consumer, lazy: LazyEntity, raw: bytes) -> None:
    """Check that ``consume`` gives, raises and leaves behind the same with both kinds of entity."""
    stock = in_order_of(type(lazy).from_bytes(raw), stock_entity(raw))
    with geo_points_without_address():
        result = outcome(consume, lazy)
        expected = outcome(consume, stock)
    assert describe(result) == describe(expected)
    assert snapshot(lazy) == snapshot(stock)


def describe(result: Any) -> Any:
    """Return ``result`` as plain structures: exact types, values, and the order of what is ordered.

    Raises:
        AssertionError: if there is something in it that no consumer should be given.
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
    """Return ``text`` without what rightly differs: the name of the class."""
    return re.sub(r"[\w.]*\b(Lazy)?Entity\b", "Entity", text)
