"""The benchmark section of a document, as reStructuredText."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report.table import Figure, Pivot, Table
from lazyentity.bench.report.tables import environment_line, tables

_WIDTH = 100
_WORD = re.compile("[a-z]{2}")


class NothingToShow(ValueError):
    """The run has no table for the section."""


class MarkersMissing(Exception):
    """A file lacks a marker, or has both in the wrong order."""


def prose(text: str) -> str:
    """A paragraph in lines of the width of a document."""
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False, break_long_words=False)


def ratio_text(summary: Summary, digits: int) -> str:
    """A ratio with its quartiles, if it was measured more than once."""
    if summary.rounds == 1:
        return f"{summary.median:.{digits}f}x"
    median, q1, q3 = (f"{value:.{digits}f}" for value in (summary.median, summary.q1, summary.q3))
    return f"{median}x ({q1}-{q3})"


def _cell(figure: Figure, line: Any) -> str:
    """A time as its median, a ratio with its quartiles."""
    if line is None:
        return "not measured"
    summary = figure.of(line)
    if summary is None:
        return "n/a"  # a lone dash would begin a list
    if figure.unit:
        return f"{summary.median:,.{figure.digits}f}"
    return ratio_text(summary, figure.digits)


def _header(figure: Figure) -> str:
    return f"{figure.header} {figure.unit}".rstrip()


def rendered(table: Table) -> str:
    """A table as reStructuredText.

    Its classes tell the style sheet that figures stay on one line, and that words in the first
    columns may break: ``figures`` and ``labels-2``.
    """
    lines = [line for line in table.lines if table.in_readme(line)]
    labels = [*([table.group] if table.group else []), *table.labels]
    headers = [label.header for label in labels]
    texts = [tuple(label.of(line) for label in labels) for line in lines]
    if table.pivot is None:
        headers += map(_header, table.figures)
        rows = [
            [*text, *(_cell(figure, line) for figure in table.figures)]
            for text, line in zip(texts, lines, strict=True)
        ]
    else:
        headers += _pivot_headers(table.pivot, table.figures)
        rows = _pivot_rows(table.pivot, table.figures, texts, lines)
    # The commands that measure import this module, and do without it.
    from tabulate import tabulate

    # numparse would rewrite the figures; every cell is text already.
    drawn = tabulate(rows, headers, tablefmt="rst", disable_numparse=True, stralign="right")
    words = [
        number
        for number, column in enumerate(zip(*texts, strict=True), start=1)
        if any(_WORD.search(text) for text in column)
    ]
    options = f".. table::\n   :class: figures labels-{max(words, default=0)}\n\n"
    return options + textwrap.indent(drawn, "   ")


def _pivot_headers(pivot: Pivot, figures: Sequence[Figure]) -> list[str]:
    base = pivot.headers[pivot.base]
    return [*(f"{_header(figure)}, {base}" for figure in figures[:-1]), *pivot.headers.values()]


def _pivot_rows(
    pivot: Pivot, figures: Sequence[Figure], texts: Sequence[tuple[str, ...]], lines: Sequence[Any]
) -> list[list[str]]:
    *times, ratio = figures
    found = {(text, pivot.label.of(line)): line for text, line in zip(texts, lines, strict=True)}
    return [
        [
            *text,
            *(_cell(figure, line) for figure in times),
            *(_cell(ratio, found.get((text, varied))) for varied in pivot.headers),
        ]
        for (text, varied), line in found.items()
        if varied == pivot.base
    ]


def _introduction(measured: Results) -> str:
    return prose(f"Measured on {measured.date[:10]}: {environment_line(measured.environment)}.")


def _blocks(table: Table) -> list[str]:
    """A table with its heading, if it has one, and what introduces it.

    The pages use the character below the heading for no other level above it.
    """
    heading = [f"{table.heading}\n{'~' * len(table.heading)}"] if table.heading else []
    return [*heading, prose(table.prose), rendered(table)]


def render(
    measured: Results,
    compact: bool = False,
    tables_of: Callable[[Results], Iterable[Table]] = tables,
) -> str:
    """The section: bias, environment, and the tables that ``tables_of`` makes of the run.

    ``compact`` is for a section that does not stand for the whole benchmark: without the bias,
    without how to read the figures, and with fewer tables (see `Table.compact`).

    Raises:
        NothingToShow: the run has no table for the section.
    """
    blocks = [_introduction(measured)]
    if not compact:
        blocks.insert(0, prose(measured.bias))
        blocks.append(
            prose(
                "Ratios are stock time over lazy time: medians, with their quartiles in "
                "parentheses; below 1 stock is faster. Times are per entity, from the bytes of a "
                "response of 20 entities to the values read."
            )
        )
    shown = [each for each in tables_of(measured) if each.prose and (each.compact or not compact)]
    if not shown:
        raise NothingToShow(f"the run of {measured.date} measured nothing that this section shows")
    return "\n\n".join((*blocks, *(block for each in shown for block in _blocks(each))))


def markers(section: str) -> tuple[str, str]:
    """The comments before and after the section of that name."""
    return f".. {section}-start", f".. {section}-end"


def put_between_markers(document: str, section: str, text: str) -> str:
    """``document`` with ``text`` between the markers of ``section``, in place of the text there.

    Raises:
        MarkersMissing: the document lacks a marker, or has both in the wrong order.
    """
    start, end = markers(section)
    before, has_start, rest = document.partition(start)
    _, has_end, after = rest.partition(end)
    if not (has_start and has_end):
        raise MarkersMissing(f"it needs the comments {start!r} and {end!r}, in that order")
    return f"{before}{start}\n\n{text}\n\n{end}{after}"
