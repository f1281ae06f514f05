"""The goals of calls of adapted libraries, without an entity in them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from lazyentity.bench.report.goals import Goal, figure_of

ALIVE = {"none": "none", "1": "one", "10,000": "many"}
"""How many entities are alive elsewhere, with the attribute of a line that has the ratio."""

SHORT = 0.15
"""The goal of short calls while no property is undecoded: so many microseconds more."""

_SHORT_CALLS = frozenset(
    (
        ("immutables", "Map, one row"),
        ("lru", "update, one row"),
        ("mashumaro", "to_json of a dataclass, orjson"),
        ("orjson", "dumps, one row"),
        ("pycrdt", "an entry of a map, one row"),
        ("pydantic", "a model of one row"),
        ("pydantic", "from_attributes of an object with 14,000 rows"),
        ("pydantic", "model_dump"),
        ("pydantic", "validate_call of a method, 20,000 dicts in its object"),
        ("pydantic", "validate_python, 200 models"),
        ("pydantic", "validate_python, one row"),
        ("sqlmodel", "a model of one row"),
        ("xml.etree", "TreeBuilder.start"),
    )
)
"""Calls of less than 5 microseconds, of which the time itself is bounded."""

_WITH_ENTITIES = {"fastapi": 1.15, "pydantic": 1.15, "sqlmodel": 1.15}
_WITH_ENTITIES_OF_OTHERS = 1.3


def goal_of(library: str, use: str, alive: str) -> float:
    """Return the goal of a call: a ratio, or `SHORT`."""
    if alive != "none":
        return _WITH_ENTITIES.get(library, _WITH_ENTITIES_OF_OTHERS)
    if (library, use) in _SHORT_CALLS:
        return SHORT
    return 1.02 if "uvicorn" in use else 1.03


def goals_in_words(line: Any) -> str:
    """Return the goals of a line of the table."""
    none = goal_of(line.library, line.use, "none")
    short = f"+{none:g} µs" if none == SHORT else f"{none:g}"
    return f"{short}, {goal_of(line.library, line.use, '1'):g}"


def missed_in_words(line: Any) -> str:
    """Say which goals of a line of the table are missed; nothing, if all are met."""
    missed = []
    for alive, statistic in ALIVE.items():
        goal = goal_of(line.library, line.use, alive)
        measured = getattr(line, "more" if goal == SHORT else statistic)
        if measured.median > goal:
            missed.append(alive)
    return ", ".join(missed) or "-"


def _goals(library: str, use: str) -> Iterator[Goal]:
    figure = functools.partial(figure_of, "adapter_costs", library=library, use=use)
    for alive, statistic in ALIVE.items():
        goal = goal_of(library, use, alive)
        what = "us more with adapters" if goal == SHORT else "time with adapters / without"
        yield Goal(
            "native",
            f"{library}, {use}, {alive} alive: {what}",
            figure("more" if goal == SHORT else statistic),
            goal,
            at_least=False,
        )


def adapter_goals(uses: Iterable[tuple[str, str]]) -> tuple[Goal, ...]:
    """Return the goals of calls.

    Args:
        uses: the library and the name of each call.
    """
    return tuple(goal for use in uses for goal in _goals(*use))
