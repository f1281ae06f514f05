"""Detached entities to test, and the stock entities that they are compared with."""

from __future__ import annotations

from typing import Any

import lazyentity
from lazyentity import LazyEntity
from tests.support.stock import stock_entity
from tests.support.strategies.samples import PLAIN


def detach_one(entity: Any, **options: Any) -> Any:
    (detached,) = lazyentity.detach([entity], **options)
    return detached


def read_some(lazy_type: type[LazyEntity], raw: bytes = PLAIN, *names: str) -> Any:
    entity = lazy_type.from_bytes(raw)
    lazyentity.prefetch(entity, *names)
    return entity


def part_of_stock(raw: bytes, *names: str) -> Any:
    """Return the stock entity without all properties but ``names``."""
    stock = stock_entity(raw)
    for name in stock.keys() - set(names):
        del stock[name]
        stock.exclude_from_indexes.discard(name)
        stock._meanings.pop(name, None)
    return stock
