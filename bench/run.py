"""The plan of a run: its measurements, their order, and how long each may take."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lazyentity.bench import own_entities
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides
from lazyentity.bench.harness.lines import UNITS
from lazyentity.bench.harness.timing import Budget
from lazyentity.bench.subjects import conversion, end_to_end, memory, writes

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
    """The cases and budgets of a run: by default, of the whole benchmark.

    ``end_to_end_reads``: the name of a call, how many entities it reads, and their properties.
    """

    mode: Literal["quick", "full", "own"] = "full"
    counts: tuple[int, ...] = synthetic.COUNTS
    reads: tuple[str, ...] = synthetic.READS
    conversion: Budget = field(default=Budget(2, 11, 200, 0.005))
    rewrite_counts: tuple[int, ...] = (5, 20, 100, 500, 1000)
    put_counts: tuple[int, ...] = (5, 20, 100, 500)
    writes: Budget = field(default=Budget(1, 9, 200, 0.005))
    end_to_end_reads: tuple[tuple[str, int, int], ...] = (
        *_READS_OF_GOALS,
        ("get_multi", 10, 10),
        ("get_multi", 100, 10),
    )
    end_to_end: Budget = field(default=Budget(15, 30, 200, 0.02))
    end_to_end_models: Budget = field(default=Budget(6, 9, 200, 0.02))
    access: Budget = field(default=Budget(3, 30, 100, 0))
    adapted: Budget = field(default=Budget(6, 30, 300, 0.02))
    memory_properties: tuple[int, ...] = (5, 20, 100, 500)
    memory_entities: int = 5000
    memory_rounds: int = 3
    import_rounds: int = 15
    scaling: Budget = field(default=Budget(10, 15, 100, 0.005))
    scaling_with_stock: bool = True


FULL = Plan()

QUICK = Plan(
    mode="quick",
    counts=(5, 20, 100, 500),
    reads=("1", "4", "all", "items", synthetic.EAGER, synthetic.MATERIALIZED),
    conversion=Budget(0.25, 3, 50, 0.002),
    rewrite_counts=(100,),
    put_counts=(100,),
    writes=Budget(0.5, 3, 50, 0.002),
    end_to_end_reads=_READS_OF_GOALS,
    end_to_end=Budget(2, 5, 60, 0.02),
    end_to_end_models=Budget(0.5, 3, 60, 0.02),
    access=Budget(1, 9, 50, 0),
    adapted=Budget(1, 9, 100, 0.02),
    memory_properties=(100,),
    memory_entities=500,
    import_rounds=3,
    scaling=Budget(0.5, 5, 30, 0.002),
    scaling_with_stock=False,
)

Part = object
"""A line of the results, see :mod:`lazyentity.bench.harness.lines`."""
Step = tuple[str, Callable[[], Part]]


def _of_made(
    section: str,
    measure: Callable[[Any, Budget], Part],
    makers: Iterable[Callable[[], Any]],
    budget: Budget,
) -> list[Step]:
    """Measure cases that are made just before."""
    return _of_each(section, lambda make: measure(make(), budget), zip(makers))


def _of_each(
    section: str, measure: Callable[..., Part], cases: Iterable[Sequence[Any]], *others: Any
) -> list[Step]:
    """Measure cases, which are the first arguments of ``measure``."""
    return [(section, functools.partial(measure, *case, *others)) for case in cases]


def _new_names_steps(plan: Plan, *classes: str) -> list[Step]:
    cases = itertools.product(classes, memory.NAME_COUNTS)
    return _of_each(
        "new names", memory.measure_new_names, cases, plan.memory_rounds, plan.conversion
    )


def steps(plan: Plan, mixes: Sequence[str], counts: Sequence[int]) -> list[Step]:
    """Every measurement of ``plan``, each with the name of its section."""
    decoded = decoding.select(mixes, counts, plan.reads).values()
    documents = [() for make in decoded if make is decoding.document_case]
    rewrites = writes.select_rewrites(plan.rewrite_counts).values()
    puts = writes.select_puts(plan.put_counts).values()
    of_memory = [(count,) for count in plan.memory_properties]
    others = [(call, ENTITIES, PROPERTIES) for call in (end_to_end.ASYNCIO_QUERY, end_to_end.WRITE)]
    calls = [*plan.end_to_end_reads, *others]
    growing = [(unit, conversion.SIZES, plan.scaling_with_stock) for unit in UNITS]
    plain = [(count,) for count in conversion.PLAIN_COUNTS]
    return [
        *_of_made("decode", conversion.measure, decoded, plan.conversion),
        *_of_each("the document's floor", conversion.measure_floor, documents, plan.conversion),
        *_of_made("read, modify, write", writes.measure_rewrite, rewrites, plan.writes),
        *_of_made("put", writes.measure_put, puts, plan.writes),
        *_of_each("memory", memory.measure, of_memory, plan.memory_entities, plan.memory_rounds),
        *_new_names_steps(plan, memory.OF_ENTITIES),
        *_of_each("end to end", end_to_end.measure, calls, plan.end_to_end),
        *_of_each("scaling", conversion.measure_scaling, growing, plan.scaling),
        *_of_each("plain values", conversion.measure_plain_values, plain, plan.conversion),
        ("import", functools.partial(conversion.import_ms, plan.import_rounds)),
        ("access", functools.partial(conversion.access, plan.access)),
        *_adapted_steps(plan),
    ]


def missing_for_adapters() -> list[str]:
    """The missing libraries, without which the adapters are not measured."""
    return [name for name in _ADAPTED if importlib.util.find_spec(name) is None]


def _adapted_steps(plan: Plan) -> list[Step]:
    if missing_for_adapters():
        return []
    from lazyentity.bench.subjects import adapted

    return _of_each("adapters", adapted.measure, zip(adapted.NAMES), plan.adapted)


# Each of the following imports its subject, and raises ImportError if that is not installed.


def ndb_steps(plan: Plan) -> list[Step]:
    """The measurements of google-cloud-ndb."""
    from lazyentity.bench.subjects import end_to_end_models, models

    cases = itertools.product(models.CLASSES, models.COUNTS, models.READS)
    made = [functools.partial(models.case, *case) for case in cases]
    usual = [(ENTITIES, properties) for properties in models.COUNTS]
    calls = [
        (name, *size, read)
        for name, call in end_to_end_models.CALLS.items()
        for size in call.sizes or usual
        for read in end_to_end_models.READS
    ]
    return [
        *_of_made("models", models.measure, made, plan.conversion),
        *_new_names_steps(plan, *memory.OF_MODELS),
        *_of_each("end to end", end_to_end_models.measure, calls, plan.end_to_end_models),
    ]


def of_calls(chosen: Sequence[Step], name: str) -> list[Step]:
    """The measurements of the end-to-end call ``name``, or of the library, alone.

    Args:
        chosen: measurements of :func:`ndb_steps` or :func:`adapter_steps`.
        name: of the call or library.
    """
    return [
        (section, measure)
        for section, measure in chosen
        if isinstance(measure, functools.partial) and measure.args[:1] == (name,)
    ]


def appengine_steps(plan: Plan) -> list[Step]:
    """The measurements of App Engine's bundled client."""
    from lazyentity.bench.subjects import appengine

    makers = [
        *appengine.select(appengine.CALLS | appengine.DB_CALLS),
        *appengine.select(appengine.OF_LISTS, appengine.canned_lists),
        *appengine.select(appengine.NDB_CALLS),
    ]
    return _of_made("decode", appengine.measure, makers, plan.conversion)


def packed_steps(plan: Plan) -> list[Step]:
    """The measurements of packed documents."""
    from lazyentity.bench.subjects import packed

    cases = [(use, size) for size in packed.SIZES for use in packed.USES]
    return _of_each("packed documents", packed.measure, cases, plan.end_to_end_models)


def columns_steps(plan: Plan) -> list[Step]:
    """The measurements of columns, with pandas."""
    from lazyentity.bench.subjects import columnar, columns_memory

    # A round takes half a minute with the pure backend.
    memory_rounds = 1 if plan.mode == "quick" else plan.memory_rounds
    sizes = [(columns_memory.ENTITIES, memory_rounds)]
    return [
        *_of_each("columns", columnar.measure, zip(columnar.SOURCES), plan.end_to_end_models),
        *_of_each("memory of columns", columns_memory.measure, sizes),
    ]


def adapter_steps(plan: Plan) -> list[Step]:
    """The measurements of calls of the installed adapted libraries, without an entity in them."""
    from lazyentity.bench.subjects import adapter_costs

    uses = adapter_costs.installed_uses()
    return _of_each("adapters", adapter_costs.measure, uses, plan.adapted)


def own_steps(
    plan: Plan, own: Sequence[decoding.Case], call: Callable[[], None], rate: float
) -> list[Step]:
    """The decode measurement of cases that exist already, and the time of the ``call``.

    The savings are given for ``rate`` calls a second. They are of CPU time, which other processes
    of the user's machine do not change.
    """
    return [
        ("calls", functools.partial(own_entities.measure_call, call, own[0].entities, rate)),
        *_of_each("decode", conversion.measure, zip(own), plan.conversion, time.process_time),
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
