"""The costs of conversion on this machine, from which the CPU time saved is estimated."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lazyentity.profiling.counts import Counts

_FEW, _MANY = 5, 45
_ROUNDS = 7
_ENTITIES = 10


@dataclass(frozen=True)
class Costs:
    """Microseconds of CPU time, measured with made-up entities of six types of properties.

    Attributes:
        stock_entity: of the stock client, for an entity without properties.
        stock_property: of the stock client, for each property.
        lazy_entity: of a lazy entity without properties.
        lazy_property: of a lazy entity, for each property that is not read.
        lazy_read: for each property that is read.
    """

    stock_entity: float
    stock_property: float
    lazy_entity: float
    lazy_property: float
    lazy_read: float

    def seconds(self, counts: Counts) -> tuple[float, float]:
        """Return the seconds that the stock client takes for lazy entities, and that these take."""
        entities, properties = counts.entities, counts.received
        stock = entities * self.stock_entity + properties * self.stock_property
        lazy = entities * self.lazy_entity + properties * self.lazy_property
        return stock / 1e6, (lazy + counts.decoded * self.lazy_read) / 1e6


@functools.cache
def measure() -> Costs:
    """Measure the costs, once in a process; this takes some milliseconds.

    Imports the client.
    """
    from lazyentity.codec import messages
    from lazyentity.codec.values import stock_entity
    from lazyentity.entity import LazyEntity

    def to_stock(raw: bytes) -> Any:
        return stock_entity(messages.Entity.FromString(raw))

    def read(raw: bytes) -> None:
        entity = LazyEntity._from_raw(raw)
        for name in entity:
            entity[name]

    few, many = (_serialised(messages, count) for count in (_FEW, _MANY))

    def costs_of(convert: Callable[[bytes], Any]) -> tuple[float, float]:
        """Return the costs of an entity without properties, and of each property."""
        of_few = _microseconds(convert, few)
        each = max(0.0, (_microseconds(convert, many) - of_few) / (_MANY - _FEW))
        return max(0.0, of_few - _FEW * each), each

    lazy_entity, lazy_property = costs_of(LazyEntity._from_raw)
    lazy_read = max(0.0, costs_of(read)[1] - lazy_property)
    return Costs(*costs_of(to_stock), lazy_entity, lazy_property, lazy_read)


def _serialised(messages: Any, count: int) -> bytes:
    entity = messages.Entity()
    entity.key.partition_id.project_id = "project"
    entity.key.path.add(kind="Kind", id=1)
    for number in range(count):
        contents: tuple[dict[str, Any], ...] = (
            {"string_value": f"a text of usual length, {number}"},
            {"integer_value": number * 1_000_003},
            {"double_value": number / 3},
            {"boolean_value": bool(number % 4)},
            {"blob_value": bytes(16)},
            {"timestamp_value": {"seconds": 1_700_000_000 + number}},
        )
        value = messages.Value(**contents[number % len(contents)])
        entity.properties[f"property_{number:03d}"].CopyFrom(value)
    serialised: bytes = entity.SerializeToString(deterministic=True)
    return serialised


def _microseconds(convert: Callable[[bytes], Any], raw: bytes) -> float:
    """Return the shortest time of a call in a few rounds: other load only adds time."""
    shortest = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(_ENTITIES):
            convert(raw)
        shortest = min(shortest, time.perf_counter() - start)
    return shortest / _ENTITIES * 1e6
