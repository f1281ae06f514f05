"""How the cost grows with the size of a response: per property, and per entity."""

from __future__ import annotations

from typing import Literal

from lazyentity.bench import cases, conversion, sides, verify
from lazyentity.bench.results import Scaling, ScalingPoint
from lazyentity.bench.stats import Summary, paired_ratio, scaled, summarize
from lazyentity.bench.timing import Budget, interleave

Growing = Literal["properties", "entities"]
AXES: tuple[Growing, ...] = ("properties", "entities")
SIZES = (100, 1_000, 10_000)

_MIX, _READ = "mixed", "4"
_PROPERTIES_AN_ENTITY = 10
_MICROSECONDS = 1e6


def _case(growing: Growing, size: int) -> cases.Case:
    """One response: an entity of ``size`` properties, or ``size`` entities."""
    if growing == "properties":
        return cases.case(_MIX, size, _READ, entities=1)
    return cases.case(
        _MIX, _PROPERTIES_AN_ENTITY, _READ, entities=size, entities_a_response=size
    )


def measure(growing: Growing, sizes: tuple[int, ...], with_stock: bool, budget: Budget) -> Scaling:
    """Time the conversion of one response at each of ``sizes`` (ascending), four properties read.

    All sizes take turns within ``budget``, so that `ScalingPoint.growth` pairs neighbours in time.
    The stock side is checked against in any case; it is timed only if ``with_stock``, because at
    10,000 entities every call of it takes around half a second.

    Raises:
        verify.OutputMismatch: the sides differ.
    """
    by_size = {size: _case(growing, size) for size in sizes}
    for case in by_size.values():
        conversion.check_outputs(case)
    stock = {size: conversion.read_task(sides.STOCK, case) for size, case in by_size.items()}
    tasks = {
        f"lazy {size}": conversion.read_task(sides.LAZY, case) for size, case in by_size.items()
    }
    if with_stock:
        tasks |= {f"stock {size}": task for size, task in stock.items()}
    timed = interleave(tasks, budget)
    per_unit = {
        name: scaled(track.seconds, _MICROSECONDS / int(name.split()[1]))
        for name, track in timed.items()
    }
    return Scaling(...)
