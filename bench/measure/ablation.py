"""The gain of each seam of google-cloud-ndb: calls with all of them, and with all but one.

``python -m lazyentity.bench.measure.ablation RESULTS.json`` measures and writes the results;
``--table FILE.rst`` writes them as a table as well. ``--cpu`` measures the CPU time of the client's
process: on a machine that others use, wall time spreads too far.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec
from tabulate import tabulate

from lazyentity.bench.harness import environment, sides
from lazyentity.bench.harness.stats import Summary, paired_ratio
from lazyentity.bench.harness.timing import Budget, Clock, Context, Task, interleave
from lazyentity.bench.subjects import end_to_end_models, models
from lazyentity.patches.ndb import seams as ndb_patch
from lazyentity.patches.registry import Seam

ENTITIES = 300
COUNTS = (10, 100)
CALLS = ("ndb fetch", "ndb get_multi", "ndb get_multi, cached", "ndb get_multi, put_multi")
"""Reads by query, by key and from the global cache, and writing back the models read."""
READ = "1"
ALL = "all seams"


@dataclass(frozen=True)
class Line:
    """One call. ``gains`` is by seam: the time without it over the time with all seams."""

    call: str
    properties: int
    stock: Summary
    gains: dict[str, Summary]


@dataclass(frozen=True)
class Ablation:
    """All lines of a run, and the environment that it ran in."""

    machine: environment.Environment
    lines: list[Line]


def seams() -> dict[str, Seam]:
    """The seams of ndb by the names of the functions that they replace."""
    found = ndb_patch.CLIENT.patch.seams
    return {f"{seam.module.rpartition('.')[2]}.{seam.path}": seam for seam in found}


@contextlib.contextmanager
def _patched_without(seam: Seam) -> Iterator[None]:
    with sides.patched(ndb_patch.CLIENT.patch):
        seam.remove()
        yield


def _contexts() -> dict[str, Context]:
    return {
        ALL: models.CONTEXTS["lazy"],
        "stock": models.CONTEXTS["stock"],
        **{name: functools.partial(_patched_without, seam) for name, seam in seams().items()},
    }


def measure(call: str, properties: int, budget: Budget, clock: Clock | None = None) -> Line:
    """Time one call with all seams, with none, and without each seam in turn.

    Args:
        call: one of `CALLS`.
        properties: of each entity.
        budget: for all rounds together.
        clock: measures the calls, `time.perf_counter` by default.
    """
    with end_to_end_models.loaded(call, ENTITIES, properties, READ) as loaded:
        task: Task = loaded.tasks["lazy"]
        contexts = _contexts()
        timed = interleave(dict.fromkeys(contexts, task), budget, contexts, clock)
        loaded.check(timed["stock"].last, timed[ALL].last)
        whole = timed[ALL].seconds
        return Line(
            call=f"{call} of {ENTITIES} x {properties}, {READ} read",
            properties=properties,
            stock=paired_ratio(timed["stock"].seconds, whole),
            gains={name: paired_ratio(timed[name].seconds, whole) for name in seams()},
        )


def _percent(ratio: Summary) -> str:
    median, low, high = ((value - 1) * 100 for value in (ratio.median, ratio.q1, ratio.q3))
    return f"{median:+.0f}% ({low:+.0f} to {high:+.0f})"


def table(ablation: Ablation) -> str:
    """The results as a table of reStructuredText: a row for each seam, a column for each line."""
    lines = ablation.lines
    rows = [
        [
            name,
            *(_percent(line.gains[name]) for line in lines),
        ]
        for name in lines[0].gains
    ]
    return tabulate(rows, ["without", *(line.call for line in lines)], tablefmt="rst")


@click.command()
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--table", "rst", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--seconds", default=60.0, show_default=True, help="Of measuring, for each line.")
@click.option("--cpu", is_flag=True, help="Measure CPU time of this process, not wall time.")
def main(*, output: Path, rst: Path | None, seconds: float, cpu: bool) -> None:
    """Measure the gain of each seam of google-cloud-ndb, and write it to OUTPUT as JSON."""
    budget = Budget(seconds=seconds, min_rounds=9, max_rounds=400, sample_seconds=0.02)
    clock = time.process_time if cpu else None
    lines = [measure(call, count, budget, clock) for call in CALLS for count in COUNTS]
    ablation = Ablation(environment.describe("native"), lines)
    output.write_bytes(msgspec.json.encode(ablation))
    if rst:
        rst.write_text(table(ablation) + "\n", encoding="utf-8")
    click.echo(table(ablation))


if __name__ == "__main__":
    main()
