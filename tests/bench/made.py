"""Results made up for the tests of what shows, checks and draws them."""

from __future__ import annotations

import functools

from lazyentity.bench import cases, document, end_to_end_writes, environment, run, scaling, writes
from lazyentity.bench.results import (
    SCHEMA,
    UNITS,
    Access,
    Conversion,
    DocumentFloor,
    EndToEnd,
    Growing,
    Memory,
    Put,
    ReadModifyWrite,
    Results,
    Scaling,
    ScalingPoint,
)
from lazyentity.bench.stats import Summary


def _about(value: float) -> Summary:
    return Summary(median=value, q1=value * 0.9, q3=value * 1.2, rounds=9)


def _conversion(case: cases.Case, ratio: float) -> Conversion:
    return Conversion(
        mix=case.mix,
        properties=case.properties,
        read=case.read,
        entities=case.entities,
        wire_bytes=23 * case.properties,
        stock=_about(ratio * case.properties),
        lazy=_about(case.properties),
        upb_parse=_about(case.properties / 2),
        ratio=_about(ratio),
        over_upb_parse=_about(2),
    )


def _scaling(growing: Growing, ratio: float, growth: float) -> Scaling:
    points = [
        ScalingPoint(
            entities=size if growing == "entities" else 1,
            properties=size if growing == "properties" else 10,
            wire_bytes=25 * size,
            lazy=_about(0.02 * growth**step),
            stock=_about(0.02 * ratio) if size < max(scaling.SIZES) else None,
            growth=_about(growth) if step else None,
        )
        for step, size in enumerate(scaling.SIZES)
    ]
    return Scaling(growing=growing, read="4", points=points)


@functools.cache
def _quick_cases() -> list[cases.Case]:
    makers = cases.select(tuple(cases.MIXES), run.QUICK.counts, run.QUICK.reads)
    return [make() for make in makers.values()]


def make_results(ratio: float = 10.0, backend: str = "pure", growth: float = 1.0) -> Results:
    """Results of the shape that the quick plan gives, every ratio of them the one asked for.

    ``growth`` is the factor between the costs per unit of one size and the next.
    """
    return Results(
        schema=SCHEMA,
        date="2024-05-06T07:08:09+00:00",
        mode="quick",
        environment=environment.describe(backend),
        conversion=[_conversion(case, ratio) for case in _quick_cases()],
        memory=[
            Memory(
                properties=count,
                read="4",
                entities=20,
                wire_bytes=2300,
                stock=_about(15000),
                lazy=_about(15000 / ratio),
                upb_message=_about(21000),
                ratio=_about(1 / ratio),
            )
            for count in run.QUICK.memory_properties
        ],
        end_to_end=[
            EndToEnd(
                call=call,
                entities=entities,
                properties=properties,
                read="1",
                stock=_about(40),
                lazy=_about(40 / ratio),
                floor=_about(20 / ratio),
                ratio=_about(ratio),
                over_floor=_about(2),
            )
            for call, entities, properties in run.QUICK.end_to_end_reads
        ]
        + [
            EndToEnd(
                call=end_to_end_writes.CALL,
                entities=run.ENTITIES,
                properties=run.PROPERTIES,
                read="0",
                stock=_about(200),
                lazy=_about(200 / ratio),
                floor=None,
                ratio=_about(ratio),
                over_floor=None,
                changed=1,
            )
        ],
        scaling=[_scaling(growing, ratio, growth) for growing in UNITS],
        import_ms=_about(12),
        read_modify_write=[
            ReadModifyWrite(
                mix=writes.MIX,
                properties=count,
                changed=changed,
                entities=20,
                wire_bytes=23 * count,
                stock=_about(ratio * count),
                lazy=_about(count),
                ratio=_about(ratio),
            )
            for count in run.QUICK.rewrite_counts
            for changed in writes.CHANGES
        ],
        puts=[
            Put(
                mix=mix,
                properties=count,
                entities=20,
                wire_bytes=23 * count,
                stock=_about(ratio * count),
                lazy=_about(count),
                ratio=_about(ratio),
            )
            for mix, count in (
                *((writes.MIX, count) for count in run.QUICK.put_counts),
                (cases.DOCUMENT, document.VALUES),
            )
        ],
        access=Access(entity=_about(30), plain_dict=_about(20), ratio=_about(1.5)),
        document_floor=DocumentFloor(
            stock=_about(60),
            lazy=_about(60 / ratio),
            json=_about(5),
            loop=_about(2),
            ratio=_about(ratio),
            json_ratio=_about(12),
        ),
    )
