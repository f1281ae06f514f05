"""The plan of a run: its measurements, their order, and how long each may take."""

from __future__ import annotations

import functools
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides
from lazyentity.bench.harness.lines import (
    UNITS,
)
from lazyentity.bench.harness.timing import Budget
from lazyentity.bench.subjects import (
    conversion,
    document_floor,
    end_to_end,
    end_to_end_asyncio,
    end_to_end_writes,
    memory,
    new_names,
    overheads,
    own_calls,
    plain_values,
    scaling,
    writes,
)

ENTITIES, PROPERTIES = 300, 100

# Libraries whose adapters are measured. They have their own extra, because they are large.
_ADAPTED = ("fastapi", "orjson", "pydantic")

_READS_OF_GOALS = (
    ("query", ENTITIES, PROPERTIES),
    ("get_multi", ENTITIES, PROPERTIES),
    ("get_multi", 1000, 10),
    ("get_multi", 1000, 100),
    (end_to_end.EAGER_QUERY, ENTITIES, PROPERTIES),
)


@dataclass(frozen=True)
class Plan:
    """The cases and budgets of a run.

    ``end_to_end_reads``: the name of a call, how many entities it reads, and their properties.
    """

    mode: Literal["quick", "full", "own"]
    counts: tuple[int, ...]
    reads: tuple[str, ...]
    conversion: Budget
    rewrite_counts: tuple[int, ...]
    put_counts: tuple[int, ...]
    writes: Budget
    end_to_end_reads: tuple[tuple[str, int, int], ...]
    end_to_end: Budget
    end_to_end_models: Budget
    access: Budget
    adapted: Budget
    memory_properties: tuple[int, ...]
    memory_entities: int
    memory_rounds: int
    import_rounds: int
    scaling: Budget
    scaling_with_stock: bool


QUICK = Plan(
    mode="quick",
    counts=(5, 20, 100, 500),
    reads=("1", "4", "all", "items", synthetic.EAGER, synthetic.MATERIALIZED),
    conversion=Budget(seconds=0.25, min_rounds=3, max_rounds=50, sample_seconds=0.002),
    rewrite_counts=(100,),
    put_counts=(100,),
    writes=Budget(seconds=0.5, min_rounds=3, max_rounds=50, sample_seconds=0.002),
    end_to_end_reads=_READS_OF_GOALS,
    end_to_end=Budget(seconds=2, min_rounds=5, max_rounds=60, sample_seconds=0.02),
    end_to_end_models=Budget(seconds=0.5, min_rounds=3, max_rounds=60, sample_seconds=0.02),
    access=Budget(seconds=1, min_rounds=9, max_rounds=50, sample_seconds=0),
    adapted=Budget(seconds=1, min_rounds=9, max_rounds=100, sample_seconds=0.02),
    memory_properties=(100,),
    memory_entities=500,
    memory_rounds=3,
    import_rounds=3,
    scaling=Budget(seconds=0.5, min_rounds=5, max_rounds=30, sample_seconds=0.002),
    scaling_with_stock=False,
)

FULL = Plan(
    mode="full",
    counts=synthetic.COUNTS,
    reads=synthetic.READS,
    conversion=Budget(seconds=2, min_rounds=11, max_rounds=200, sample_seconds=0.005),
    rewrite_counts=(5, 20, 100, 500, 1000),
    put_counts=(5, 20, 100, 500),
    writes=Budget(seconds=1, min_rounds=9, max_rounds=200, sample_seconds=0.005),
    end_to_end_reads=(*_READS_OF_GOALS, ("get_multi", 10, 10), ("get_multi", 100, 10)),
    end_to_end=Budget(seconds=15, min_rounds=30, max_rounds=200, sample_seconds=0.02),
    end_to_end_models=Budget(seconds=6, min_rounds=9, max_rounds=200, sample_seconds=0.02),
    access=Budget(seconds=3, min_rounds=30, max_rounds=100, sample_seconds=0),
    adapted=Budget(seconds=6, min_rounds=30, max_rounds=300, sample_seconds=0.02),
    memory_properties=(5, 20, 100, 500),
    memory_entities=5000,
    memory_rounds=3,
    import_rounds=15,
    scaling=Budget(seconds=10, min_rounds=15, max_rounds=100, sample_seconds=0.005),
    scaling_with_stock=True,
)

Part = object
"""A line of the results, see :mod:`lazyentity.bench.harness.lines`."""
Step = tuple[str, Callable[[], Part]]


def _decode_step(make: Callable[[], decoding.Case], budget: Budget) -> Step:
    return "decode", lambda: conversion.measure(make(), budget)


def _rewrite_step(make: Callable[[], writes.Rewrite], budget: Budget) -> Step:
    return "read, modify, write", lambda: writes.measure_rewrite(make(), budget)


def _put_step(make: Callable[[], writes.Fresh], budget: Budget) -> Step:
    return "put", lambda: writes.measure_put(make(), budget)


def _new_names_steps(plan: Plan, of: str) -> list[Step]:
    return [
        (
            "new names",
            functools.partial(
                new_names.measure,
                of,
                count,
                plan.memory_rounds,
                plan.conversion,
            ),
        )
        for count in new_names.COUNTS
    ]


def steps(plan: Plan, mixes: Sequence[str], counts: Sequence[int]) -> list[Step]:
    """Every measurement of ``plan``, each with the name of its section."""
    decoded = decoding.select(mixes, counts, plan.reads)
    return [
        *(_decode_step(make, plan.conversion) for make in decoded.values()),
        *(
            ("the document's floor", functools.partial(document_floor.measure, plan.conversion))
            for make in decoded.values()
            if make is decoding.document_case
        ),
        *(
            _rewrite_step(make_rewrite, plan.writes)
            for make_rewrite in writes.select_rewrites(plan.rewrite_counts).values()
        ),
        *(
            _put_step(make_put, plan.writes)
            for make_put in writes.select_puts(plan.put_counts).values()
        ),
        *(
            (
                "memory",
                functools.partial(memory.measure, count, plan.memory_entities, plan.memory_rounds),
            )
            for count in plan.memory_properties
        ),
        *_new_names_steps(plan, new_names.ENTITIES),
        *(
            (
                "end to end",
                functools.partial(end_to_end.measure, call, entities, properties, plan.end_to_end),
            )
            for call, entities, properties in plan.end_to_end_reads
        ),
        *(
            ("end to end", functools.partial(measure, ENTITIES, PROPERTIES, plan.end_to_end))
            for measure in (end_to_end_asyncio.measure, end_to_end_writes.measure)
        ),
        *(
            (
                "scaling",
                functools.partial(
                    scaling.measure,
                    growing,
                    scaling.SIZES,
                    plan.scaling_with_stock,
                    plan.scaling,
                ),
            )
            for growing in UNITS
        ),
        *(
            ("plain values", functools.partial(plain_values.measure, count, plan.conversion))
            for count in plain_values.COUNTS
        ),
        ("import", functools.partial(overheads.import_ms, plan.import_rounds)),
        ("access", functools.partial(overheads.access, plan.access)),
        *_adapters_steps(plan),
    ]


def missing_for_adapters() -> list[str]:
    """The missing libraries, without which the adapters are not measured."""
    return [name for name in _ADAPTED if importlib.util.find_spec(name) is None]


def _adapters_steps(plan: Plan) -> list[Step]:
    if missing_for_adapters():
        return []
    from lazyentity.bench.subjects import adapted

    return [
        ("adapters", functools.partial(adapted.measure, name, plan.adapted))
        for name in adapted.NAMES
    ]


def ndb_steps(plan: Plan) -> list[Step]:
    """The measurements of google-cloud-ndb, which is imported for them.

    Raises:
        ImportError: if it is not installed.
    """
    from lazyentity.bench.subjects import end_to_end_models, models

    def step(make: Callable[[], models.ModelCase]) -> Step:
        return "models", lambda: models.measure(make(), plan.conversion)

    return [
        *map(step, models.select(models.COUNTS, models.READS).values()),
        *(new for of in new_names.MODELS for new in _new_names_steps(plan, of)),
        *(
            (
                "end to end",
                functools.partial(
                    end_to_end_models.measure,
                    name,
                    entities,
                    properties,
                    read,
                    plan.end_to_end_models,
                ),
            )
            for name, call in end_to_end_models.CALLS.items()
            for entities, properties in call.sizes
            or [(ENTITIES, properties) for properties in models.COUNTS]
            for read in end_to_end_models.READS
        ),
    ]


def of_calls(chosen: Sequence[Step], name: str) -> list[Step]:
    """The end-to-end measurements of the call ``name`` alone.

    Args:
        chosen: measurements of :func:`ndb_steps`.
        name: of the call.
    """
    return [
        (section, measure)
        for section, measure in chosen
        if isinstance(measure, functools.partial) and measure.args[:1] == (name,)
    ]


def appengine_steps(plan: Plan) -> list[Step]:
    """The measurements of App Engine's bundled client, which is imported for them.

    Raises:
        ImportError: if it is not installed.
    """
    from lazyentity.bench.subjects import appengine, appengine_db, appengine_ndb

    def step(make: Callable[[], appengine.AppCase]) -> Step:
        return "decode", lambda: appengine.measure(make(), plan.conversion)

    calls = (*appengine.CALLS, *appengine_db.CALLS)
    makers = [
        *appengine.select(calls, appengine.READS),
        *appengine.select_lists(),
        *appengine_ndb.select(),
    ]
    return [*map(step, makers)]


def own_steps(
    plan: Plan, own: Sequence[decoding.Case], call: Callable[[], None], rate: float
) -> list[Step]:
    """The decode measurement of cases that exist already, and the time of the ``call``.

    The savings are given for ``rate`` calls a second. They are of CPU time, which other processes
    of the user's machine do not change.
    """
    return [
        ("calls", functools.partial(own_calls.measure, call, own[0].entities, rate)),
        *(
            (
                "decode",
                functools.partial(conversion.measure, case, plan.conversion, time.process_time),
            )
            for case in own
        ),
    ]


def run(measurements: Sequence[Step], on_step: Callable[[str], None]) -> Iterator[Part]:
    """Make the measurements in order; ``on_step`` is told the section before each.

    Raises:
        sides.PatchedProcess: lazyentity is active in this process.
        verify.OutputMismatch: lazy and stock outputs differ.
    """
    sides.require_unpatched()
    for section, measure in measurements:
        on_step(section)
        yield measure()
