"""The comparisons in which lazyentity gains least, or loses, as reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.measure.page_tables import tables
from lazyentity.bench.report.readme import prose, rendered
from lazyentity.bench.report.table import Figure, Label, Table

LIMIT = 1.5
"""Comparisons with a smaller median gain are listed."""

FIRST = 10
"""So many of each results file are listed first, the others at the end of the page."""

TITLES = {
    "native": "Native backend",
    "pure": "Pure backend",
    "ndb": "google-cloud-ndb, native backend",
    "appengine-native": "App Engine's bundled services, native backend",
    "appengine-pure": "App Engine's bundled services, pure backend",
    "beam-connector": "Apache Beam, native backend",
    "firestore-documents": "google-cloud-firestore, native backend",
    "firestore-documents-pure": "google-cloud-firestore, pure backend",
    "firestore-writes": "google-cloud-firestore, writes, native backend",
    "firestore-writes-pure": "google-cloud-firestore, writes, pure backend",
    "packed-native": "Packed documents, native backend",
    "packed-pure": "Packed documents, pure backend",
    "columns-native": "Columns, native backend",
    "columns-pure": "Columns, pure backend",
    "adapters": "Adapters, native backend",
    "bulk": "Many keys in few calls, native backend",
    "snapshot": "Snapshots, native backend",
    "cache": "A cache of raw entities, native backend",
    "alternatives": "Alternatives, native backend",
    "calls": "Whole calls, native backend",
    "own": "The example of Start, native backend",
}
"""The heading of each results file, in the order of the page."""

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


def render(measured: Mapping[str, Results]) -> str:
    """The first `FIRST` comparisons below `LIMIT` of each results file, the smallest gain first."""
    blocks: list[str] = []
    without = []
    for name, title in TITLES.items():
        listed = _listed(measured[name])
        if listed:
            blocks += [f"{title}\n{'-' * len(title)}", _table(listed[:FIRST])]
        else:
            without.append(title)
        if len(listed) > FIRST:
            blocks.append(f"{len(listed) - FIRST} more are at the end of this page.")
    if without:
        blocks.append(prose(f"No comparison is below {LIMIT:g} in: {'; '.join(without)}."))
    return "\n\n".join(blocks)


def rest(measured: Mapping[str, Results]) -> str:
    """The other comparisons below `LIMIT`."""
    blocks: list[str] = []
    for name, title in TITLES.items():
        if others := _listed(measured[name])[FIRST:]:
            blocks += [f"{title}, from the eleventh on:", _table(others)]
    return "\n\n".join(blocks) or "There are no others."
