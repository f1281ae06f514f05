"""Results made up for the tests of tables, goals and the chart."""

from __future__ import annotations

import functools
from typing import Any

from lazyentity.bench import run
from lazyentity.bench.cases import decoding, document, synthetic
from lazyentity.bench.harness import environment, lines, results
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.subjects import (
    adapted,
    end_to_end_asyncio,
    end_to_end_writes,
    new_names,
    plain_values,
    scaling,
    writes,
)


def _about(value: float) -> Summary:
    return Summary(median=value, q1=value * 0.9, q3=value * 1.2, rounds=9)


def _compared(properties: int, ratio: float) -> dict[str, Any]:
    return {
        "properties": properties,
        "entities": 20,
        "wire_bytes": 23 * properties,
        "stock": _about(ratio * properties),
        "lazy": _about(properties),
        "ratio": _about(ratio),
    }


def _conversion(case: decoding.Case, ratio: float) -> lines.Conversion:
    return lines.Conversion(
        mix=case.mix,
        read=case.read,
        upb_parse=_about(case.properties / 2),
        **_compared(case.properties, ratio),
        over_upb_parse=_about(2),
    )


def _scaling(growing: lines.Growing, ratio: float, growth: float) -> lines.Scaling:
    points = [
        lines.ScalingPoint(
            entities=size if growing == "entities" else 1,
            properties=size if growing == "properties" else 10,
            wire_bytes=25 * size,
            lazy=_about(0.02 * growth**step),
            stock=_about(0.02 * ratio) if size < max(scaling.SIZES) else None,
            growth=_about(growth) if step else None,
        )
        for step, size in enumerate(scaling.SIZES)
    ]
    return lines.Scaling(growing=growing, read="4", points=points)


@functools.cache
def _quick_cases() -> list[decoding.Case]:
    makers = decoding.select(tuple(synthetic.MIXES), run.QUICK.counts, run.QUICK.reads)
    return [make() for make in makers.values()]


def make_results(ratio: float = 10.0, backend: str = "pure", growth: float = 1.0) -> Results:
    """Results of the shape that the quick plan gives, every ratio of them the one asked for.

    ``growth`` is the factor between the costs per unit of one size and the next.
    """
    return results.Results(
        schema=results.SCHEMA,
        date="2024-05-06T07:08:09+00:00",
        mode="quick",
        environment=environment.describe(backend),
        conversion=[_conversion(case, ratio) for case in _quick_cases()],
        memory=[
            lines.Memory(
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
            lines.EndToEnd(
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
            for call, entities, properties in (
                *run.QUICK.end_to_end_reads,
                (end_to_end_asyncio.CALL, run.ENTITIES, run.PROPERTIES),
            )
        ]
        + [
            lines.EndToEnd(
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
        scaling=[_scaling(growing, ratio, growth) for growing in lines.UNITS],
        import_ms=_about(12),
        read_modify_write=[
            lines.ReadModifyWrite(
                mix=writes.MIX,
                changed=changed,
                **_compared(count, ratio),
            )
            for count in run.QUICK.rewrite_counts
            for changed in writes.CHANGES
        ],
        puts=[
            lines.Put(
                mix=mix,
                **_compared(count, ratio),
            )
            for mix, count in (
                *((writes.MIX, count) for count in run.QUICK.put_counts),
                (decoding.DOCUMENT, document.VALUES),
            )
        ],
        plain_values=[
            lines.PlainValues(
                properties=count, decode=_about(count), to_dict=_about(count), ratio=_about(1)
            )
            for count in plain_values.COUNTS
        ],
        adapted=[
            lines.Adapted(
                use=use,
                stock=_about(1),
                lazy=_about(1 / ratio),
                ratio=_about(1 / ratio),
                more=_about(1 / ratio - 1),
            )
            for use in adapted.NAMES
        ],
        access=lines.Access(entity=_about(30), plain_dict=_about(20), ratio=_about(1.5)),
        new_names=[
            lines.NewNames(
                of=new_names.ENTITIES,
                names=count,
                stock=_about(ratio),
                lazy=_about(1),
                ratio=_about(ratio),
                stock_mb=_about(80),
                lazy_mb=_about(80 / ratio),
                memory_ratio=_about(1 / ratio),
            )
            for count in new_names.COUNTS
        ],
        document_floor=lines.DocumentFloor(
            stock=_about(60),
            lazy=_about(60 / ratio),
            json=_about(5),
            loop=_about(2),
            ratio=_about(ratio),
            json_ratio=_about(12),
            over_json=_about(1.2),
        ),
    )
