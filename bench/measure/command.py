"""The declaration of a benchmark that only the documentation shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import click

from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.timing import Budget
from lazyentity.bench.measure.page_results import PageResults

_Line = TypeVar("_Line")


@dataclass(frozen=True)
class Run:
    """The wishes of the command line.

    Attributes:
        budget: for each line.
        is_quick: whether the largest sizes are left out.
        only: a part of the names of the calls to measure.
    """

    budget: Budget
    is_quick: bool = False
    only: str = ""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        lines: yields the lines of results; each is measured when it is asked for.
        budget: for each line, unless the command line gives other seconds.
        goals: compares the results with goals.
    """

    lines: Callable[[Run], Iterable[object]]
    budget: Budget
    goals: Callable[[PageResults], list[Outcome]] = lambda _: []


def announced(parts: Iterable[_Line]) -> Iterator[_Line]:
    """Yield lines, and name each by the texts and numbers in it that are no figures."""
    for part in parts:
        held = vars(part).values()
        named = ", ".join(str(value) for value in held if isinstance(value, (str, int)))
        click.echo(f"measured: {named}", err=True)
        yield part
