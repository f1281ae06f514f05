"""Runs that measure the rooms beside the core: packed documents, and columns."""

from __future__ import annotations

import functools

from lazyentity.bench.run import Plan, Step


def packed_steps(plan: Plan) -> list[Step]:
    """The measurements of packed documents.

    Raises:
        ImportError: if an extra that they need is not installed.
    """
    from lazyentity.bench.measure import packed

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
    from lazyentity.bench.measure import columnar, columns_memory

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
