"""The comparisons of a run in which lazyentity gains least, or loses, as reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tabulate import tabulate

from lazyentity.bench.measure.results import Results
from lazyentity.bench.measure.stats import Summary
from lazyentity.bench.report.readme import ratio_text
from lazyentity.bench.report.tables import Figure, Table, tables

LIMIT = 1.5
"""Comparisons with a smaller median gain are listed."""

COMPARISONS = {"stock / lazy": False, "lazy / stock": True, "lazy / plain dict": True}
"""The ratios that compare lazyentity with something else, and whether the gain is their inverse."""

_SIZES = frozenset(("bytes", "kB"))
_UNIT = re.compile(r", (?:µs|ns|ms|KiB|MB)\b")


class Gain(NamedTuple):
    """One comparison; a ``gain`` below 1 is a loss."""

    benchmark: str
    case: str
    gain: Summary


def _case(table: Table, figure: Figure, line: Any) -> str:
    """The labels of a line in words."""
    parts = []
    for label in table.labels:
        if label.header not in _SIZES:
            named = label.header in ("properties", "names", "entities x properties")
            parts.append(f"{label.of(line)} {label.header}" if named else label.of(line))
    if table.group is not None:
        parts.insert(0, table.group.of(line))
    if table.pivot is not None:
        text = table.pivot.label.of(line)
        parts.append(table.pivot.headers.get(text, f"{text} {table.pivot.label.header}"))
    if isinstance(figure.value, str) and figure.value.startswith("memory"):
        parts.append("memory")
    return ", ".join(parts)


def _inverse(summary: Summary) -> Summary:
    return Summary(1 / summary.median, 1 / summary.q3, 1 / summary.q1, summary.rounds)


def gains(results: Results) -> Iterator[Gain]:
    """Every comparison of a run."""
    for table in tables(results):
        benchmark = _UNIT.split(table.title)[0]
        for figure in table.figures:
            if figure.header not in COMPARISONS:
                continue
            for line in table.lines:
                summary = figure.of(line)
                if summary is not None:
                    gain = _inverse(summary) if COMPARISONS[figure.header] else summary
                    yield Gain(benchmark, _case(table, figure, line), gain)


def render(results: Results) -> str:
    """The table of the comparisons below `LIMIT`, the smallest gain first."""
    listed = sorted(
        (each for each in gains(results) if each.gain.median < LIMIT),
        key=lambda each: each.gain.median,
    )
    if not listed:
        return f"No comparison of this run is below {LIMIT:g}."
    rows = [(ratio_text(each.gain, 2), each.benchmark, each.case) for each in listed]
    headers = ("gain", "benchmark", "case")
    return tabulate(rows, headers, tablefmt="rst", disable_numparse=True)
