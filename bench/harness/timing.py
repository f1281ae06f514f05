"""Timing several tasks against each other in one process.

One round times every task once, in an order that alternates from round to round, so that drift of
the machine (frequency, neighbours) reaches all of them alike. The cyclic garbage collector is off
inside the timed sections, for every task, and runs between them; the objects of the start are
frozen so that these collections stay short. A task's previous result dies inside its next timed
call, so releasing the entities is measured too.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from lazyentity.bench.harness.stats import Summary, compared

SIDES = ("stock", "lazy")
"""The tasks of the two sides, whose ratio is stock over lazy."""

MILLISECONDS = 1e3
MICROSECONDS = 1e6
NANOSECONDS = 1e9
"""In a second."""

AFTER_CHANGE = 100
"""Calls before a sample whose context exchanges functions of libraries.

The exchange leaves the processor's caches without the code and the data of the task. CPython
specialises instructions anew, once each missed 53 times. An application pays for that once, and not
at each call.
"""

_FAR_LONGER = 10

Task = Callable[[], Any]

Clock = Callable[[], float]
"""Seconds since any moment. Wall time by default; `time.process_time` counts CPU time of
all threads of this process."""

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


@dataclass
class Timed:
    """One task, its seconds per call (one figure a round) and the result of its last timed call.

    Every sample is taken inside a new ``context``, which is entered and left while no clock runs.
    ``before`` more calls come first in it, and are not timed.
    """

    task: Task
    seconds: list[float] = field(default_factory=list)
    last: Any = None
    context: Context = nullcontext
    clock: Clock = field(default_factory=lambda: time.perf_counter)
    before: int = 1

    def sample(self, calls: int) -> float:
        """Seconds per call over ``calls`` calls, the release of the previous results included.

        The calls before them pay for the task before this one, which differs from side to side
        (caches filled by another task, a server that fell asleep meanwhile).
        """
        task, self.last = self.task, None
        with self.context():
            gc.collect()
            for _ in itertools.repeat(None, self.before):
                result = task()
            start = self.clock()
            for _ in itertools.repeat(None, calls):
                result = task()
            seconds = (self.clock() - start) / calls
        self.last = result
        return seconds

    def calls_for(self, seconds: float) -> int:
        """The number of calls that last ``seconds``; the trial calls also warm the task up.

        A call that lasts :data:`_FAR_LONGER` times as long is tried once: noise is never so large.
        """
        first = self.sample(1)
        if first >= _FAR_LONGER * seconds:
            return 1
        return max(1, math.ceil(seconds / min(first, self.sample(1), self.sample(1))))


@dataclass(frozen=True)
class Comparison:
    """Ways to do the same, by name, each ready to run inside its context of ``contexts``.

    ``check`` takes the results of the first way, mostly stock, and of the lazy one. It raises
    `verify.OutputMismatch` if they differ.
    """

    tasks: Mapping[str, Task]
    check: Callable[[Any, Any], None]
    contexts: Mapping[str, Context] = field(default_factory=dict)

    def run(self, name: str) -> Any:
        """Run the task of that name once and return its result."""
        with self.contexts.get(name, nullcontext)():
            return self.tasks[name]()

    def timed(self, budget: Budget, clock: Clock | None = None) -> dict[str, Timed]:
        """Time all ways as `interleave` does, and check the results of the last round.

        Raises:
            verify.OutputMismatch: the lazy way gave something else.
        """
        timed = interleave(self.tasks, budget, self.contexts, clock)
        self.check(timed[next(iter(timed))].last, timed["lazy"].last)
        return timed


def figures(
    timed: Mapping[str, Timed], factor: float, **ratios: tuple[str, str]
) -> dict[str, Summary]:
    """The times and ratios of tasks that `interleave` timed, as `compared` gives them.

    ``factor`` is the units in a second, over the entities of a call.
    """
    return compared({name: track.seconds for name, track in timed.items()}, factor, **ratios)


_NO_CONTEXTS: Mapping[str, Context] = {}


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the cyclic garbage collector from running by itself; put it back afterwards."""
    was_enabled = gc.isenabled()
    was_frozen = gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        # Unfreezing would include objects that the caller froze.
        if not was_frozen:
            gc.unfreeze()
        if was_enabled:
            gc.enable()


def interleave(
    tasks: Mapping[str, Task],
    budget: Budget,
    contexts: Mapping[str, Context] = _NO_CONTEXTS,
    clock: Clock | None = None,
    before: int = 1,
) -> dict[str, Timed]:
    """Time every task of ``tasks`` in turns within ``budget``.

    A task runs inside its context of ``contexts``, if there is one under its name. ``clock``
    measures the samples, `time.perf_counter` by default; the budget is of wall time. ``before``
    calls of a task come before each of its samples. One is enough, unless its context changes the
    code that it runs: see :data:`AFTER_CHANGE`.

    Returns:
        For every name its samples: the same number for each, sample ``i`` of all taken in one
        round.
    """
    clock = clock or time.perf_counter
    timed = {
        name: Timed(task, context=contexts.get(name, nullcontext), clock=clock, before=before)
        for name, task in tasks.items()
    }
    with collector_off():
        calls = {name: track.calls_for(budget.sample_seconds) for name, track in timed.items()}
        forward = list(tasks)
        backward = forward[::-1]
        deadline = time.perf_counter() + budget.seconds
        for done in range(budget.max_rounds):
            if done >= budget.min_rounds and time.perf_counter() >= deadline:
                break
            for name in backward if done % 2 else forward:
                timed[name].seconds.append(timed[name].sample(calls[name]))
    return timed
