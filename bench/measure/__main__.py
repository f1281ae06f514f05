"""The command of the benchmarks that only the documentation shows.

``python -m lazyentity.bench.measure NAME`` measures one of them, and shows its tables and goals.
The loopback servers are separate processes, whose CPU time does not count.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from lazyentity.bench.harness import outcomes, results
from lazyentity.bench.measure import page_tables
from lazyentity.bench.measure.command import Benchmark, Run, announced
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import terminal

NAMES = {
    "ablation-ndb": "ablation.NDB",
    "ablation-appengine": "ablation.APPENGINE",
    "ablation-beam": "ablation.BEAM",
    "ablation-gcloud-aio": "ablation.GCLOUD_AIO",
    "alternatives": "alternatives.BENCHMARK",
    "beam-connector": "beam.BENCHMARK",
    "bulk": "bulk.BENCHMARK",
    "cache": "cached.BENCHMARK",
    "calls": "calls.BENCHMARK",
    "firestore-documents": "firestore.BENCHMARK",
    "firestore-writes": "firestore.WRITING",
    "snapshot": "snapshots.BENCHMARK",
}
"""By the names of their results files: a module, and the benchmark that it declares."""


def benchmark(name: str) -> Benchmark:
    """Return one of `NAMES`.

    Raises:
        ImportError: its client is not installed.
    """
    module, _, declared = NAMES[name].partition(".")
    found: Benchmark = getattr(importlib.import_module(f"{__package__}.{module}"), declared)
    return found


@click.command()
@click.argument("name", type=click.Choice(list(NAMES)))
@click.option("--seconds", type=float, help="Of measuring, for each line.")
@click.option("--quick", is_flag=True, help="Leave out the largest sizes.")
@click.option("--only", default="", help="A part of the names of the calls to measure.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="A results file.")
@click.option("--check", is_flag=True, help="Fail, naming them, when goals are missed.")
def main(
    *, name: str, seconds: float | None, quick: bool, only: str, output: Path | None, check: bool
) -> None:
    """Measure NAME, show its tables, write a results file, and compare it with its goals."""
    declared = benchmark(name)
    budget = declared.budget if seconds is None else replace(declared.budget, seconds=seconds)
    parts = announced(declared.lines(Run(budget, quick, only)))
    # Their pages say how they were measured.
    made = replace(PageResults.of(parts), bias="")
    terminal.show(made, Console(), page_tables.tables)
    if output is not None:
        results.write(output, results.dump(made))
    compared = declared.goals(made)
    for outcome in compared:
        click.echo(str(outcome))
    if check:
        outcomes.require_met(compared)


if __name__ == "__main__":
    main(prog_name="python -m lazyentity.bench.measure")
