"""The comparisons of a run in which lazyentity gains least, or loses, as reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.measure.page_tables import tables
from lazyentity.bench.report.readme import rendered
from lazyentity.bench.report.table import Figure, Label, Table

LIMIT = 1.5
"""Comparisons with a smaller median gain are listed."""

FIRST = 10
"""So many are listed first, the others at the end of the page."""

COMPARISONS = {
    "stock / lazy": False,
    "stock / lazy, CPU": False,
    "lazy / stock": True,
    "lazy / plain dict": True,
    "stock / packed": False,
    "lazy / packed": False,
    "stock / to_pandas": False,
    "lazy / to_pandas": False,
    "time / get_many": False,
    "coalesced / single": False,
    "a lone get": True,
    "first / snapshot": False,
    "all / snapshot": False,
    "pickle / raw": False,
    "way / lazy": False,
}
"""The ratios that compare lazyentity with something else, and whether the gain is their inverse."""

_OF_CLIENTS = frozenset(("stock / lazy", "lazy / stock", "lazy / plain dict"))
"""Those that need no name in a case."""

_SIZES = frozenset(("bytes", "kB", "bytes embedded", "bytes packed", "requests", "goal"))
_COUNTS = frozenset(("properties", "names", "entities x properties", "keys", "entities"))
_UNIT = re.compile(r", (?:µs|ns|ms|s|KiB|MB|gets a second)\b")


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
            is_count = label.header in _COUNTS
            parts.append(f"{label.of(line)} {label.header}" if is_count else label.of(line))
    if table.group is not None:
        parts.insert(0, table.group.of(line))
    if table.pivot is not None:
        text = table.pivot.label.of(line)
        parts.append(table.pivot.headers.get(text, f"{text} {table.pivot.label.header}"))
    if isinstance(figure.value, str) and figure.value.startswith("memory"):
        parts.append("memory")
    if figure.header not in _OF_CLIENTS:
        parts.append(figure.header)
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


def _listed(results: Results) -> list[Gain]:
    """The comparisons below `LIMIT`, the smallest gain first."""
    below = (each for each in gains(results) if each.gain.median < LIMIT)
    return sorted(below, key=lambda each: each.gain.median)


def _table(listed: Sequence[Gain]) -> str:
    labels = Label("benchmark", "benchmark"), Label("case", "case")
    return rendered(Table("", "", listed, labels, (Figure("gain", "gain", digits=2),)))


def render(results: Results) -> str:
    """The table of the first `FIRST` comparisons below `LIMIT`, the smallest gain first."""
    listed = _listed(results)
    if not listed:
        return f"No comparison of this run is below {LIMIT:g}."
    table = _table(listed[:FIRST])
    more = len(listed) - FIRST
    return table if more <= 0 else f"{table}\n\n{more} more are at the end of this page."


def rest(results: Results) -> str | None:
    """The table of the other comparisons below `LIMIT`; None if there are none."""
    listed = _listed(results)[FIRST:]
    return _table(listed) if listed else None
