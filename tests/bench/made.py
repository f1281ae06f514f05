"""Results made up for the tests of tables, the chart and the command."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from lazyentity.bench.harness import PER_CALL, PER_ENTITY, Case, Comparison, Plan
from lazyentity.bench.results import Line, Results, Summary, Unit


def about(value: float) -> Summary:
    """A summary with a spread."""
    return Summary(median=value, q1=value * 0.9, q3=value * 1.2, rounds=9)


def make_line(
    case: str, properties: int, done: str, unit: Unit, ratio: float = 10, entities: int = 20
) -> Line:
    """A line whose times grow with the properties."""
    stock, lazy = about(ratio * properties), about(properties)
    section = "calls" if unit == PER_CALL else "read"
    sides = stock, lazy, about(ratio), about(ratio * 2)
    return Line(section, case, entities, properties, done, unit, *sides)


def make_results(ratio: float = 10, counts: Sequence[int] = (5, 20, 100, 500)) -> Results:
    """Results as those of google-cloud-datastore, with the ratio in every line."""
    lines = [
        make_line(mix, count, done, PER_ENTITY, ratio)
        for mix in ("strings", "mixed")
        for count in counts
        for done in ("1 read", "4 read", "all read")
    ]
    calls = [
        make_line(call, 100, "1 read", PER_CALL, ratio, entities=300)
        for call in ("query", "get_multi", "asyncio query")
    ]
    return Results("datastore", [*lines, *calls], "quick", date="2024-05-06T07:08:09+00:00")


def make_case(name: str = "case", seconds: Sequence[float] = ()) -> Case:
    """A case whose sides do nothing, and give the same."""
    nothing = Comparison(lambda: 1, lambda: 1, lambda stock, lazy: None)
    make = contextlib.nullcontext
    return Case("read", name, 20, 5, "4 read", PER_ENTITY, lambda: make(nothing))


def cases(*names: str) -> list[Case]:
    """Cases of these names."""
    return [make_case(name) for name in names]


def no_cases(_client: str, _plan: Plan) -> list[Case]:
    """In place of the cases of a client, of which none is measured."""
    return cases("first", "second", "third")
