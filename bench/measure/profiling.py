"""The cost of a profile: the same reads while none runs, and while one does.

``python -m lazyentity.bench.measure.profiling`` prints it for a few cases.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import click

import lazyentity
from lazyentity.bench.cases import decoding
from lazyentity.bench.harness import sides
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.harness.timing import MICROSECONDS, Budget, Task, figures, interleave
from lazyentity.bench.subjects import conversion

OFF, ON = "off", "on"
CONTEXTS = {ON: lazyentity.profile}

CASES = tuple(
    ("mixed", properties, read)
    for properties in (5, 20, 100)
    for read in ("1", "4", "all", "items")
)
"""Mix, properties, read."""

_BUDGET = Budget(seconds=2, min_rounds=9, max_rounds=100, sample_seconds=0.005)


@dataclass(frozen=True)
class ProfileCost:
    """Reads of an entity: microseconds without and with a profile; ``ratio`` is on over off."""

    properties: int
    read: str
    off: Summary
    on: Summary
    ratio: Summary


def tasks(case: decoding.Case) -> dict[str, Task]:
    """The reads of a case; the read ``ON`` must run inside its context of `CONTEXTS`."""
    return {OFF: conversion.read_task(sides.LAZY, case), ON: conversion.read_task(sides.LAZY, case)}


def measure(case: decoding.Case, budget: Budget) -> ProfileCost:
    """Time a case without and with a profile, in turns, by the CPU time of this process."""
    timed = interleave(tasks(case), budget, CONTEXTS, clock=time.process_time)
    times = figures(timed, MICROSECONDS / case.entities, ratio=(ON, OFF))
    return ProfileCost(
        properties=case.properties,
        read=case.read,
        **times,
    )


def main() -> None:
    """Print the cost for each of `CASES`."""
    click.echo(f"{lazyentity.backend} backend, reads of one entity without and with a profile")
    for mix, properties, read in CASES:
        cost = measure(decoding.case(mix, properties, read), _BUDGET)
        click.echo(
            f"{cost.properties} properties, {cost.read} read: off {cost.off.median:.2f} us, on "
            f"{cost.on.median:.2f} us: {cost.ratio.median:.2f} times "
            f"({cost.ratio.q1:.2f} to {cost.ratio.q3:.2f})"
        )


if __name__ == "__main__":
    main()
