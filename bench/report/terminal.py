"""The presentation of a run in the terminal."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Any

from rich import box
from rich import table as rich_table
from rich.console import Console
from rich.text import Text

from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report import own
from lazyentity.bench.report.table import Figure, Table
from lazyentity.bench.report.tables import environment_line, tables

_EXAMPLE_WIDTH = 80


def spread(summary: Summary, digits: int = 1) -> str:
    """A median, and half the distance of its quartiles in percent of it if there are several."""
    if summary.rounds == 1:
        return f"{summary.median:,.{digits}f}"
    half = (summary.q3 - summary.q1) / 2
    percent = 100 * half / abs(summary.median) if summary.median else 0
    return f"{summary.median:,.{digits}f} ±{percent:.0f}%"


def _cell(figure: Figure, line: Any) -> str:
    summary = figure.of(line)
    return "-" if summary is None else spread(summary, figure.digits)


def _add_column(rendered: rich_table.Table, header: str, unbroken: Sequence[str]) -> None:
    """Add a column that is wide enough for the ``unbroken`` texts and the words of ``header``."""
    width = max(map(len, (*unbroken, *header.split())))
    rendered.add_column(header, justify="right", min_width=width)


def _rendered(table: Table, title: str, lines: Sequence[Any]) -> rich_table.Table:
    labels = [*table.labels, *([table.pivot.label] if table.pivot else [])]
    rendered = rich_table.Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    # Headers and labels break between words, or 80 columns would not hold the figures.
    for label in labels:
        words = [word for line in lines for word in label.of(line).split()]
        _add_column(rendered, label.header.replace("properties", "props"), words)
    for figure in table.figures:
        _add_column(rendered, figure.header, [_cell(figure, line) for line in lines])
    for line, following in zip_longest(lines, lines[1:]):
        first = table.labels[0].of
        rendered.add_row(
            # A Text: in a string, brackets would be markup.
            *(Text(label.of(line)) for label in labels),
            *(_cell(figure, line) for figure in table.figures),
            end_section=bool(
                table.pivot and following is not None and first(line) != first(following)
            ),
        )
    return rendered


def _renderings(table: Table) -> Iterator[rich_table.Table]:
    if table.group is None:
        yield _rendered(table, table.title, table.lines)
    else:
        for text, lines in groupby(table.lines, key=table.group.of):
            yield _rendered(table, f"{text}: {table.title}", list(lines))


def show(
    results: Results, console: Console, shown: Callable[[Results], Iterable[Table]] = tables
) -> None:
    """Print a run: its bias first, then the tables that ``shown`` makes of it."""
    if results.bias:
        console.print(Text(results.bias, style="italic"))
    console.print(Text(environment_line(results.environment)))
    console.print(
        Text(
            "Figures are medians; ± is half the interquartile range. Read eager: all read, of the "
            "stock entities of an eager client; materialized: of those that "
            "lazyentity.materialize() makes."
        )
    )
    if results.interrupted:
        console.print(Text("Interrupted: the measurements that were not made are missing."))
    if results.source is not None:
        console.print(Text(results.source))
    _show(own.tables(results), console)
    if (outcome := own.outcome(results)) is not None:
        console.print(Text(outcome))
    _show(shown(results), console)


def example(results: Results, command: str) -> str:
    """A command on the user's own entities and its outcome, as a block of a page.

    Args:
        results: what the command recorded.
        command: as a user types it.

    Raises:
        ValueError: the results are not of the user's own entities.
    """
    outcome = own.outcome(results)
    if outcome is None:
        raise ValueError("these results are not of a command with --kind")
    console = Console(width=_EXAMPLE_WIDTH, file=io.StringIO(), record=True)
    _show(own.tables(results), console)
    console.print(Text(outcome))
    shown = (line.rstrip() for line in console.export_text().splitlines())
    lines = [f"$ {command}", *(line for line in shown if line)]
    return ".. code-block:: console\n\n" + textwrap.indent("\n".join(lines), "   ")


def _show(shown: Iterable[Table], console: Console) -> None:
    """Print tables."""
    for table in shown:
        for rendered in _renderings(table):
            # A line that is wrapped shows all figures; rich would crop it.
            least = console.measure(rendered).minimum
            console.print(rendered, width=max(console.width, least), crop=False)


def show_goals(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print each goal, met or missed."""
    for outcome in outcomes:
        mark = Text("met    ", style="green") if outcome.met else Text("MISSED ", style="bold red")
        console.print(mark + Text(str(outcome)), soft_wrap=True)
