"""The report of a profile as an HTML page, with charts in SVG. It needs no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from lazyentity.profiling.report import Report
from lazyentity.profiling.tables import (
    LINES,
    Row,
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


_Bar = tuple[str, float, float, str, str]
"""A bar of a chart: a label, a part and a whole in the same unit, a figure, the part's colour."""


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
            *(_charts(report) if report.kinds else ()),
            *(_table(*section) for section in sections(report)),
            "</body></html>\n",
        )
    )


def _charts(report: Report) -> Iterator[str]:
    yield _chart(
        "Properties decoded of those received, by kind",
        [
            _bar_of(name_of(kind.kind), kind.properties_decoded, kind.properties_received)
            for kind in report.kinds[:LINES]
        ],
    )
    for kind in report.kinds[:LINES]:
        if any(each.decoded for each in kind.properties):
            yield _chart(
                f"{name_of(kind.kind)}: entities that had a property decoded",
                [
                    _bar_of(each.name, each.decoded, each.received)
                    for each in kind.properties[:LINES]
                ],
            )
    stock, lazy = report.estimate.stock_seconds, report.estimate.lazy_seconds
    yield _chart(
        "CPU time of conversion (estimate)",
        [
            ("stock", stock, max(stock, lazy), duration(stock), _STOCK),
            ("lazy", lazy, max(stock, lazy), duration(lazy), _PART),
        ],
    )
    yield f'<p class="note">{escape(report.estimate.note)}</p>'
    if report.wholes:
        most = report.wholes[0].properties
        yield _chart(
            "Properties decoded by code that decodes everything",
            [
                (place(whole.site), whole.properties, most, f"{whole.properties:,}", _PART)
                for whole in report.wholes[:LINES]
            ],
        )


def _bar_of(label: str, decoded: int, received: int) -> _Bar:
    figure = f"{share(decoded, received)} of {received:,}"
    return label, min(decoded, received), received, figure, _PART


def _chart(title: str, bars: list[_Bar]) -> str:
    height, longest = _ROW * len(bars), max((whole for _, _, whole, *_ in bars), default=0)
    scale = (_WIDTH - _LABEL - _FIGURE) / longest if longest else 0
    lines = [
        f"<h2>{escape(title)}</h2>",
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(title)}">',
    ]
    for row, (label, part, whole, figure, colour) in enumerate(bars):
        y, baseline = (row + 0.5) * _ROW - _BAR / 2, (row + 0.5) * _ROW + 5
        short = label if len(label) <= _LONGEST else "…" + label[1 - _LONGEST :]
        lines += (
            f'<text x="{_LABEL - 8}" y="{baseline}" text-anchor="end">{escape(short)}'
            f"<title>{escape(label)}</title></text>",
            *(
                f'<rect x="{_LABEL}" y="{y}" width="{length * scale:.1f}" height="{_BAR}" '
                f'fill="{fill}"/>'
                for length, fill in ((whole, _WHOLE), (part, colour))
            ),
            f'<text x="{_LABEL + whole * scale + 8:.1f}" y="{baseline}">{escape(figure)}</text>',
        )
    return "\n".join((*lines, "</svg>"))


def _table(title: str, columns: dict[str, bool], rows: list[Row]) -> str:
    def cells(tag: str, texts: Iterable[str]) -> str:
        classes = (' class="number"' if is_number else "" for is_number in columns.values())
        return "".join(
            f"<{tag}{each}>{escape(text)}</{tag}>"
            for text, each in zip(texts, classes, strict=True)
        )

    lines = "\n".join(f"<tr>{cells('td', row.values())}</tr>" for row in rows)
    return (
        f'<h2>{escape(title)}</h2>\n<div class="scroll"><table>\n'
        f"<thead><tr>{cells('th', columns)}</tr></thead>\n<tbody>\n{lines}\n</tbody></table></div>"
    )
