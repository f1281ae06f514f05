"""Results made up for the tests of tables, goals and the chart."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from lazyentity.bench import run
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import lines, results
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.subjects import adapted, conversion, end_to_end, memory, writes


def _about(value: float) -> Summary:
    return Summary(median=value, q1=value * 0.9, q3=value * 1.2, rounds=9)


def make_line(kind: Any, **given: Any) -> Any:
    """Make a line of results, with a summary about each number that is given for a figure."""
    figures = {field.name for field in dataclasses.fields(kind) if "Summary" in str(field.type)}
    return kind(
        **{
            name: _about(value) if name in figures and isinstance(value, (int, float)) else value
            for name, value in given.items()
        }
    )


def _compared(kind: Any, properties: int, ratio: float, **given: Any) -> Any:
    stock = ratio * properties
    size = {"properties": properties, "entities": 20, "wire_bytes": 23 * properties}
    return make_line(kind, stock=stock, lazy=properties, ratio=ratio, **size, **given)


def _conversion(case: decoding.Case, ratio: float) -> lines.Conversion:
    more = {"upb_parse": case.properties / 2, "over_upb_parse": 2}
    made: lines.Conversion = _compared(
        lines.Conversion, case.properties, ratio, mix=case.mix, read=case.read, **more
    )
    return made


def _scaling(growing: lines.Growing, ratio: float, growth: float) -> lines.Scaling:
    points = [
        make_line(
            lines.ScalingPoint,
            entities=size if growing == "entities" else 1,
            properties=size if growing == "properties" else 10,
            wire_bytes=25 * size,
            lazy=0.02 * growth**step,
            stock=0.02 * ratio if size < max(conversion.SIZES) else None,
            growth=growth if step else None,
        )
        for step, size in enumerate(conversion.SIZES)
    ]
    return lines.Scaling(growing=growing, read="4", points=points)


def _end_to_end(ratio: float) -> list[lines.EndToEnd]:
    asyncio = end_to_end.ASYNCIO_QUERY, run.ENTITIES, run.PROPERTIES
    times = {"stock": 40, "lazy": 40 / ratio, "floor": 20 / ratio, "ratio": ratio, "over_floor": 2}
    reads = [
        make_line(
            lines.EndToEnd, call=call, entities=entities, properties=properties, read="1", **times
        )
        for call, entities, properties in (*run.QUICK.end_to_end_reads, asyncio)
    ]
    size = {"entities": run.ENTITIES, "properties": run.PROPERTIES}
    times = {"stock": 200, "lazy": 200 / ratio, "ratio": ratio}
    name = end_to_end.WRITE
    return [*reads, make_line(lines.EndToEnd, call=name, read="0", changed=1, **size, **times)]


@functools.cache
def _quick_cases() -> list[decoding.Case]:
    makers = decoding.select(tuple(synthetic.MIXES), run.QUICK.counts, run.QUICK.reads)
    return [make() for make in makers.values()]


def make_results(ratio: float = 10.0, backend: str = "pure", growth: float = 1.0) -> Results:
    """Results of the shape that the quick plan gives, every ratio of them the one asked for.

    ``growth`` is the factor between the costs per unit of a size and of the next.
    """
    entity = {"read": "4", "entities": 20, "wire_bytes": 2300}
    held = {"stock": 15000, "lazy": 15000 / ratio, "upb_message": 21000, "ratio": 1 / ratio}
    times = {"stock": ratio, "lazy": 1, "ratio": ratio}
    megabytes = {"stock_mb": 80, "lazy_mb": 80 / ratio, "memory_ratio": 1 / ratio}
    document_times = {"stock": 60, "lazy": 60 / ratio, "ratio": ratio, "json": 5, "loop": 2}
    puts = ((writes.MIX, count) for count in run.QUICK.put_counts)
    return results.Results(
        schema=results.SCHEMA,
        date="2024-05-06T07:08:09+00:00",
        mode="quick",
        environment=results.describe(backend),
        conversion=[_conversion(case, ratio) for case in _quick_cases()],
        memory=[
            make_line(lines.Memory, properties=count, **entity, **held)
            for count in run.QUICK.memory_properties
        ],
        end_to_end=_end_to_end(ratio),
        scaling=[_scaling(growing, ratio, growth) for growing in lines.UNITS],
        import_ms=_about(12),
        read_modify_write=[
            _compared(lines.ReadModifyWrite, count, ratio, mix=writes.MIX, changed=changed)
            for count in run.QUICK.rewrite_counts
            for changed in writes.CHANGES
        ],
        puts=[
            _compared(lines.Put, count, ratio, mix=mix)
            for mix, count in (*puts, (decoding.DOCUMENT, decoding.DOCUMENT_VALUES))
        ],
        plain_values=[
            make_line(lines.PlainValues, properties=count, decode=count, to_dict=count, ratio=1)
            for count in conversion.PLAIN_COUNTS
        ],
        adapted=[
            make_line(lines.Adapted, use=use, stock=1, lazy=each, ratio=each, more=each - 1)
            for use in adapted.NAMES
            for each in (1 / ratio,)
        ],
        access=make_line(lines.Access, entity=30, plain_dict=20, ratio=1.5),
        new_names=[
            make_line(lines.NewNames, of=memory.OF_ENTITIES, names=count, **times, **megabytes)
            for count in memory.NAME_COUNTS
        ],
        document_floor=make_line(
            lines.DocumentFloor, json_ratio=12, over_json=1.2, **document_times
        ),
    )
