"""The cost of ``lazyentity.to_dict()``, next to decoding the same properties in place."""

from __future__ import annotations

from typing import Any

import lazyentity
from lazyentity.bench.cases import decoding, wire
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import PlainValues
from lazyentity.bench.harness.timing import MICROSECONDS, Budget, figures, interleave

COUNTS = (5, 100)
"""Numbers of properties, of mixed entities."""


def measure(count: int, budget: Budget) -> PlainValues:
    """Time both ways on entities of ``count`` properties, from their bytes."""
    (response,) = decoding.case("mixed", count, "all").responses
    raw_entities = wire.entities_of(response)
    make, to_dict = lazyentity.LazyEntity.from_bytes, lazyentity.to_dict

    def decode() -> None:
        for raw in raw_entities:
            make(raw).values()

    def to_dicts() -> list[dict[str, Any]]:
        return [to_dict(make(raw)) for raw in raw_entities]

    timed = interleave({"decode": decode, "to_dict": to_dicts}, budget)
    for stock, made in zip(sides.STOCK.entities(response), timed["to_dict"].last, strict=True):
        verify.check_same(sorted(stock), sorted(made), "names")
        for name, value in made.items():
            verify.check_same(stock[name], value, name)
    per_entity = figures(timed, MICROSECONDS / len(raw_entities), ratio=("to_dict", "decode"))
    return PlainValues(properties=count, **per_entity)
