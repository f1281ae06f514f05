"""The report of a profile as an HTML page, with charts in SVG. It needs no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from lazyentity.profiling.report import Kind, Report
from lazyentity.profiling.tables import (
    LINES,
    duration,
    headline,
    name_of,
    place,
    sections,
    share,
)

_WIDTH, _LABEL, _FIGURE = 560, 180, 150
_ROW, _BAR = 26, 16
_LONGEST = 24
"""How many characters of a label fit."""
_PART, _WHOLE = "#1f6f4a", "#d5dfda"
_STOCK = "#c0392b"

_STYLE = """
:root { color-scheme: light }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
       color: #222; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top;
         border-bottom: 1px solid #ddd }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
svg { max-width: 100%; height: auto } svg text { font: 13px system-ui, sans-serif }
p.note { color: #555 } code { font-size: .9em }
"""


class _Bar(NamedTuple):
    """One bar of a chart: a part of a whole, both in the same unit."""

    label: str
    part: float
    whole: float
    figure: str
    colour: str = _PART


def html(report: Report) -> str:
    """Return a report as a page."""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>lazyentity profile</title>",
            f"<style>{_STYLE}</style></head><body>",
            "<h1>lazyentity profile</h1>",
            f"<p>{escape(headline(report))}</p>",
            *_charts(report),
            *(_table(*section) for section in sections(report)),
            "</body></html>\n",
        )
    )


def _charts(report: Report) -> Iterator[str]:
    if not report.kinds:
        return
    yield _chart(
        "Properties decoded of those received, by kind",
        [
            _Bar(
                name_of(kind.kind),
                min(kind.properties_decoded, kind.properties_received),
                kind.properties_received,
                f"{share(kind.properties_decoded, kind.properties_received)} of "
                f"{kind.properties_received:,}",
            )
            for kind in report.kinds[:LINES]
        ],
    )
    for kind in report.kinds[:LINES]:
        if any(each.decoded for each in kind.properties):
            yield _chart(f"{name_of(kind.kind)}: entities that had a property decoded", _bars(kind))
    estimate = report.estimate
    most = max(estimate.stock_seconds, estimate.lazy_seconds)
    yield _chart(
        "CPU time of conversion (estimate)",
        [
            _Bar("stock", estimate.stock_seconds, most, duration(estimate.stock_seconds), _STOCK),
            _Bar("lazy", estimate.lazy_seconds, most, duration(estimate.lazy_seconds)),
        ],
    )
    yield f'<p class="note">{escape(estimate.note)}</p>'
    if report.wholes:
        most = report.wholes[0].properties
        yield _chart(
            "Properties decoded by code that decodes everything",
            [
                _Bar(place(whole.site), whole.properties, most, f"{whole.properties:,}")
                for whole in report.wholes[:LINES]
            ],
        )


def _bars(kind: Kind) -> list[_Bar]:
    return [
        _Bar(
            each.name,
            min(each.decoded, each.received),
            each.received,
            f"{share(each.decoded, each.received)} of {each.received:,}",
        )
        for each in kind.properties[:LINES]
    ]


def _chart(title: str, bars: Sequence[_Bar]) -> str:
    height = _ROW * len(bars)
    longest = max((bar.whole for bar in bars), default=0)
    return "\n".join(
        (
            f"<h2>{escape(title)}</h2>",
            f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
            f'aria-label="{escape(title)}">',
            *(line for row, bar in enumerate(bars) for line in _bar(bar, row * _ROW, longest)),
            "</svg>",
        )
    )


def _bar(bar: _Bar, top: int, longest: float) -> Iterable[str]:
    scale = (_WIDTH - _LABEL - _FIGURE) / longest if longest else 0
    y, baseline = top + (_ROW - _BAR) / 2, top + _ROW / 2 + 5
    yield (
        f'<text x="{_LABEL - 8}" y="{baseline}" text-anchor="end">{escape(_short(bar.label))}'
        f"<title>{escape(bar.label)}</title></text>"
    )
    for length, colour in ((bar.whole, _WHOLE), (bar.part, bar.colour)):
        yield (
            f'<rect x="{_LABEL}" y="{y}" width="{length * scale:.1f}" height="{_BAR}" '
            f'fill="{colour}"/>'
        )
    end = _LABEL + bar.whole * scale + 8
    yield f'<text x="{end:.1f}" y="{baseline}">{escape(bar.figure)}</text>'


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else "…" + label[1 - _LONGEST :]


def _table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numbers = [
        all(row[column][:1].isdigit() or row[column] == "-" for row in rows)
        for column in range(len(headers))
    ]

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="number">{escape(text)}</{tag}>'
            if is_number
            else f"<{tag}>{escape(text)}</{tag}>"
            for text, is_number in zip(row, numbers, strict=True)
        )

    lines = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<h2>{escape(title)}</h2>\n<div class="scroll"><table>\n'
        f"<thead><tr>{cells('th', headers)}</tr></thead>\n<tbody>\n{lines}\n</tbody></table></div>"
    )
