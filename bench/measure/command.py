"""The command line that the benchmarks of the documentation share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from lazyentity.bench.harness import files, outcomes
from lazyentity.bench.measure import page_tables
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import terminal

_Line = TypeVar("_Line")

output = click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="A results file."
)
check = click.option("--check", is_flag=True, help="Fail, naming them, when goals are missed.")


def seconds(default: float) -> Callable[[Any], Any]:
    """Return the option that says how long each line is measured."""
    return click.option(
        "--seconds", default=default, show_default=True, help="Of measuring, for each line."
    )


def announced(parts: Iterable[_Line]) -> Iterator[_Line]:
    """Yield lines, and name each by the texts and numbers in it that are no figures."""
    for part in parts:
        held = vars(part).values()
        named = ", ".join(str(value) for value in held if isinstance(value, (str, int)))
        click.echo(f"measured: {named}", err=True)
        yield part


def finish(
    parts: Iterable[object],
    output: Path | None = None,
    goals: Callable[[PageResults], list[outcomes.Outcome]] = lambda _: [],
    *,
    check: bool = False,
) -> None:
    """Make measurements, show their tables, write a results file, and hold them to their goals.

    Args:
        parts: the lines; each is measured when it is asked for.
        output: the results file, if one is to be written.
        goals: compares the results with goals.
        check: whether a missed goal is an error.

    Raises:
        files.ResultsError: the file cannot be written.
        click.ClickException: with ``check``, goals are missed; the text names each.
    """
    # Their pages say how they were measured.
    made = replace(PageResults.of(announced(parts)), bias="")
    terminal.show(made, Console(), page_tables.tables)
    if output is not None:
        files.write(output, files.dump(made))
    outcomes.report(goals(made), check=check)
