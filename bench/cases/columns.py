"""The table of the columns benchmark: six of the sixty properties of 200 entities."""

from __future__ import annotations

from lazyentity.bench.cases import synthetic

ENTITIES, PROPERTIES = 200, 60


def names() -> tuple[str, ...]:
    """One property of each of the six types, in the middle of an entity."""
    mix = synthetic.MIXES["mixed"]
    middle = PROPERTIES // 2
    return mix.names(PROPERTIES)[middle : middle + len(mix.rotation)]
