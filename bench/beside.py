"""Runs that measure the rooms beside the core: packed documents, columns and adapters."""

from __future__ import annotations

import functools

from lazyentity.bench.report import goals
from lazyentity.bench.report.adapter_goals import adapter_goals as goals_of
from lazyentity.bench.run import Plan, Step


def packed_steps(plan: Plan) -> list[Step]:
    """The measurements of packed documents.

    Raises:
        ImportError: if an extra that they need is not installed.
    """
    from lazyentity.bench.subjects import packed

    return [
        ("packed documents", functools.partial(packed.measure, use, size, plan.end_to_end_models))
        for size in packed.SIZES
        for use in packed.USES
    ]


def columns_steps(plan: Plan) -> list[Step]:
    """The measurements of columns.

    Raises:
        ImportError: if pandas is not installed.
    """
    from lazyentity.bench.subjects import columnar, columns_memory

    # A round takes half a minute with the pure backend.
    memory_rounds = 1 if plan.mode == "quick" else plan.memory_rounds
    return [
        *(
            ("columns", functools.partial(columnar.measure, source, plan.end_to_end_models))
            for source in columnar.SOURCES
        ),
        (
            "memory of columns",
            functools.partial(columns_memory.measure, columns_memory.ENTITIES, memory_rounds),
        ),
    ]


def adapter_steps(plan: Plan) -> list[Step]:
    """The measurements of calls of adapted libraries, without an entity in them.

    Raises:
        ImportError: if FastAPI, orjson or pydantic is not installed. Other libraries are left out.
    """
    from lazyentity.bench.subjects import adapter_costs

    return [
        ("adapters", functools.partial(adapter_costs.measure, library, use, plan.conversion))
        for library, use in adapter_costs.installed_uses()
    ]


def adapter_goals() -> tuple[goals.Goal, ...]:
    """The goals of these measurements, of the libraries that are installed."""
    from lazyentity.bench.subjects import adapter_costs

    return goals_of(adapter_costs.installed_uses())
