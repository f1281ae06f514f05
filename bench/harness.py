"""Timing the stock client against lazyentity, in one process.

One round times both sides once, in an order that alternates from round to round, so that drift of
the machine (frequency, neighbours) reaches both alike. The cyclic garbage collector is off inside
the timed sections and runs between them; the objects of the start are frozen so that these
collections stay short. The previous result of a side dies inside its next timed call, so releasing
the entities is measured too.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

from lazyentity.bench.results import Line, Summary, Unit, summarize

PER_ENTITY: Unit = "µs per entity"
PER_CALL: Unit = "ms per call"
HELD: Unit = "bytes per entity"

MILLISECONDS = 1e3
MICROSECONDS = 1e6
"""In a second."""

_FAR_LONGER = 10

Task = Callable[[], Any]
Context = Callable[[], AbstractContextManager[object]]
"""Makes the context manager that a task runs inside of."""


@dataclass(frozen=True)
class Budget:
    """How long to measure one case.

    Rounds go on until ``seconds`` are spent, but at least ``min_rounds`` and at most ``max_rounds``
    are made. A task is repeated inside one sample until the sample lasts ``sample_seconds`` or
    more.
    """

    seconds: float
    min_rounds: int
    max_rounds: int
    sample_seconds: float


@dataclass(frozen=True)
class Plan:
    """The size of a run: the budgets of a case by its unit, and the attribute counts."""

    mode: Literal["quick", "full"]
    counts: tuple[int, ...]
    per_entity: Budget
    per_call: Budget

    def budget(self, unit: Unit) -> Budget:
        """The budget of a case that is measured in ``unit``."""
        return self.per_entity if unit == PER_ENTITY else self.per_call


FULL = Plan(
    mode="full",
    counts=(1, 5, 10, 20, 50, 100, 200, 500, 1000),
    per_entity=Budget(2, 11, 200, 0.005),
    per_call=Budget(8, 21, 200, 0.02),
)
QUICK = Plan(
    mode="quick",
    counts=(5, 20, 100, 500),
    per_entity=Budget(0.25, 3, 50, 0.002),
    per_call=Budget(1, 5, 60, 0.02),
)


@dataclass(frozen=True)
class Comparison:
    """Two ways to do the same; the lazy one runs inside of the context ``patched``.

    ``check`` takes the results of both. It raises `verify.OutputMismatch` if they differ.
    """

    stock: Task
    lazy: Task
    check: Callable[[Any, Any], None]
    patched: Context = nullcontext


@dataclass(frozen=True)
class Case:
    """A line to measure, see `Line`. ``make`` gives both ways, while inside of its context."""

    section: str
    name: str
    entities: int
    properties: int
    done: str
    unit: Unit
    make: Callable[[], AbstractContextManager[Comparison]]

    def __str__(self) -> str:
        size = f"{self.entities:,} x {self.properties:,}"
        return f"{self.section}: {self.name}, {size}, {self.done}"


@dataclass
class _Side:
    """A task, its seconds per call (a figure a round) and the result of its last timed call."""

    task: Task
    context: Context
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    last: Any = None

    def sample(self, calls: int) -> tuple[float, float]:
        """Seconds of wall and of CPU time per call, the release of previous results included.

        A call before them pays for the other side's turn: caches filled by another task, a server
        that fell asleep meanwhile.
        """
        task, self.last = self.task, None
        with self.context():
            gc.collect()
            result = task()
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in itertools.repeat(None, calls):
                result = task()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        self.last = result
        return wall / calls, cpu / calls

    def calls_for(self, seconds: float) -> int:
        """The number of calls that last ``seconds``; the trial calls also warm the task up.

        A call that lasts :data:`_FAR_LONGER` times as long is tried once: noise is never so large.
        """
        first, _ = self.sample(1)
        if first >= _FAR_LONGER * seconds:
            return 1
        return max(1, math.ceil(seconds / min(first, self.sample(1)[0], self.sample(1)[0])))


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the cyclic garbage collector from running by itself."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()


def interleave(compared: Comparison, budget: Budget) -> tuple[_Side, _Side]:
    """Time both ways in turns, and compare the results of their last calls.

    Returns:
        The samples of stock and of lazy: sample ``i`` of both is of one round.

    Raises:
        verify.OutputMismatch: the lazy way gave something else.
    """
    stock = _Side(compared.stock, nullcontext)
    lazy = _Side(compared.lazy, compared.patched)
    with collector_off():
        sides = [(side, side.calls_for(budget.sample_seconds)) for side in (stock, lazy)]
        deadline = time.perf_counter() + budget.seconds
        for done in range(budget.max_rounds):
            if done >= budget.min_rounds and time.perf_counter() >= deadline:
                break
            for side, calls in reversed(sides) if done % 2 else sides:
                wall, cpu = side.sample(calls)
                side.wall.append(wall)
                side.cpu.append(cpu)
    compared.check(stock.last, lazy.last)
    return stock, lazy


def paired_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Summary:
    """The summary of ``numerators[i] / denominators[i]``.

    Both sides of a pair were measured one right after the other, so a machine that slows down for a
    while slows both and the quotient of the pair stays.

    Raises:
        ValueError: the sides differ in length, or are empty.
    """
    return summarize([top / bottom for top, bottom in zip(numerators, denominators, strict=True)])


def _held(task: Task, context: Context) -> tuple[int, Any]:
    """The memory that Python holds for the result of a task in bytes, and the result."""
    with context():
        task()
        gc.collect()
        tracemalloc.start()
        try:
            result = task()
            gc.collect()
            return tracemalloc.get_traced_memory()[0], result
        finally:
            tracemalloc.stop()


def measure(case: Case, budget: Budget) -> Line:
    """Time ``case``, or measure the memory that its results take.

    Raises:
        verify.OutputMismatch: lazy and stock outputs differ.
    """
    with case.make() as compared:
        if case.unit == HELD:
            size, result = _held(compared.stock, nullcontext)
            lazy_size, lazy_result = _held(compared.lazy, compared.patched)
            compared.check(result, lazy_result)
            return _line(case, [size], [lazy_size], 1 / case.entities, None)
        stock, lazy = interleave(compared, budget)
    cpu_ratio = paired_ratio(stock.cpu, lazy.cpu)
    if case.unit == PER_CALL:
        return _line(case, stock.wall, lazy.wall, MILLISECONDS, cpu_ratio)
    return _line(case, stock.cpu, lazy.cpu, MICROSECONDS / case.entities, cpu_ratio)


def _line(
    case: Case,
    stock: Sequence[float],
    lazy: Sequence[float],
    factor: float,
    cpu_ratio: Summary | None,
) -> Line:
    return Line(
        section=case.section,
        case=case.name,
        entities=case.entities,
        properties=case.properties,
        done=case.done,
        unit=case.unit,
        stock=summarize(stock, factor),
        lazy=summarize(lazy, factor),
        ratio=paired_ratio(stock, lazy),
        cpu_ratio=cpu_ratio,
    )
