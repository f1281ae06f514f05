"""The growth of a response's cost with its size: per property, and per entity."""

from __future__ import annotations

from collections.abc import Sequence

from lazyentity.bench.cases import decoding
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import Growing, Scaling, ScalingPoint
from lazyentity.bench.harness.stats import paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import Budget, interleave
from lazyentity.bench.subjects import conversion

SIZES = (100, 1_000, 10_000)

_MIX, _READ = "mixed", "4"
_PROPERTIES_OF_MANY = 10
_MICROSECONDS = 1e6


def _case(growing: Growing, size: int) -> decoding.Case:
    """One response that holds an entity of ``size`` properties, or ``size`` small entities."""
    if growing == "properties":
        return decoding.case(_MIX, size, _READ, entities=1)
    return decoding.case(_MIX, _PROPERTIES_OF_MANY, _READ, entities=size, entities_a_response=size)


def measure(growing: Growing, sizes: Sequence[int], with_stock: bool, budget: Budget) -> Scaling:
    """Time the conversion of a response of each of ``sizes``, ascending, four properties read.

    All sizes take turns within ``budget``, so that `ScalingPoint.growth` compares neighbours in
    time. Outputs are always compared with stock's. Stock is timed only ``with_stock``, because a
    stock call takes about a third of a second at 10,000 entities.
    """
    of_size = {size: _case(growing, size) for size in sizes}
    for case in of_size.values():
        conversion.check_outputs(case)
    timed_sides = {"lazy": sides.LAZY, "stock": sides.STOCK} if with_stock else {"lazy": sides.LAZY}
    timed = interleave(
        {
            f"{name} {size}": conversion.read_task(side, case)
            for size, case in of_size.items()
            for name, side in timed_sides.items()
        },
        budget,
    )
    points: list[ScalingPoint] = []
    smaller: list[float] | None = None
    for size, case in of_size.items():
        lazy = timed[f"lazy {size}"]
        stock = timed.get(f"stock {size}")
        verify.check_read(
            case.reader,
            conversion.read_task(sides.STOCK, case)() if stock is None else stock.last,
            lazy.last,
        )
        per_unit = scaled(lazy.seconds, _MICROSECONDS / size)
        points.append(
            ScalingPoint(
                entities=case.entities,
                properties=case.properties,
                wire_bytes=sum(map(len, case.responses)),
                lazy=summarize(per_unit),
                stock=(
                    None
                    if stock is None
                    else summarize(scaled(stock.seconds, _MICROSECONDS / size))
                ),
                growth=None if smaller is None else paired_ratio(per_unit, smaller),
            )
        )
        smaller = per_unit
    return Scaling(growing=growing, read=_READ, points=points)
