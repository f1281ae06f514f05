"""The charts of a run: time per entity, and wall time of calls, stock above lazy.

A chart has the width of a phone, colours that differ for the colour-blind, a word and a figure at
each bar, and a dark form for dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape

from lazyentity.bench.harness.lines import Conversion
from lazyentity.bench.harness.results import Results
from lazyentity.bench.report import headline

READ = "4"
MOST = 100
"""The most properties of an entity that is drawn, where there are two smaller counts or more."""
SIDES = "stock", "lazy"
"""The attributes of a line that are drawn, which are also the classes of their bars."""
WIDTH = 480

_FIRST_CHOICE = "mixed"
_MODELS = {"Model": "models of six types"}
_LEFT, _LONGEST = 8, 340
_TITLE, _LINE = 24, 20
_LABEL, _BAR, _GAP = 20, 16, 12
_WHOLE_FROM = 100

# The colours of Okabe and Ito, which the colour-blind can tell apart. A page that is dark by a
# button has to tell its images: see docs/_static/tables.css.
_STYLE = (
    "<style>.page{fill:#fff}text{fill:#1b1b1b}path{stroke:#1b1b1b}.b{font-weight:bold}"
    ".stock{fill:#d55e00}.lazy{fill:#0072b2}"
    "@media(prefers-color-scheme:dark){.page{fill:#131416}text{fill:#e6e6e6}path{stroke:#e6e6e6}"
    ".stock{fill:#e69f00}.lazy{fill:#56b4e9}}</style>"
)


class NothingToPlot(Exception):
    """The run did not measure what the chart shows."""


def _mix(results: Results) -> list[Conversion]:
    """The lines to draw, by rising number of properties."""
    of_mix: dict[str, list[Conversion]] = {_FIRST_CHOICE: []}
    for line in results.conversion:
        if line.read == READ:
            of_mix.setdefault(line.mix, []).append(line)
    for lines in of_mix.values():
        if len(lines) > 1:
            small = [line for line in lines if line.properties <= MOST]
            drawn = small if len(small) > 1 else lines
            return sorted(drawn, key=lambda line: line.properties)
    raise NothingToPlot(f"a chart needs {READ} read at two attribute counts or more")


def text(x: float, y: float, content: str, style: str = "") -> str:
    """The element of a text."""
    return f'<text x="{x:.0f}" y="{y:.0f}"{style}>{escape(content)}</text>'


def document(height: float, elements: Iterable[str]) -> str:
    """The text of an SVG file."""
    return "\n".join(
        (
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" height="{height:.0f}" font-family="sans-serif" font-size="15">',
            _STYLE,
            '<rect class="page" width="100%" height="100%"/>',
            *elements,
            "</svg>\n",
        )
    )


def titled(title: str, *lines: str) -> tuple[list[str], int]:
    """The elements of a title and the lines below it, and where these end."""
    elements = [text(_LEFT, _TITLE, title, ' class="b" font-size="17"')]
    elements += [
        text(_LEFT, _TITLE + _LINE * number, line) for number, line in enumerate(lines, start=1)
    ]
    return elements, _TITLE + _LINE * len(lines) + _GAP


def _figure(value: float, unit: str) -> str:
    return f"{value:,.{1 if value < _WHOLE_FROM else 0}f} {unit}"


def rows(lines: Iterable[tuple[str, Any]], top: float, unit: str) -> tuple[list[str], float]:
    """The elements of the rows of bars on one scale, which starts at zero, and where they end.

    A row has the bars of both sides, as long as their medians, with a thin line from the first to
    the third quartile, and the ratio of stock over lazy.

    Args:
        lines: the label of each row, and the line of results with a summary of each side and the
            ratio.
        top: where the rows begin.
        unit: of the summaries.
    """
    drawn = list(lines)
    highest = max(getattr(line, side).q3 for _, line in drawn for side in SIDES)
    scale = _LONGEST / highest
    elements = []
    for label, line in drawn:
        ratio = line.ratio.median
        times = f"{ratio:.{1 if ratio < 10 else 0}f}x"
        elements += [
            text(_LEFT, top + _LABEL - 5, label),
            text(WIDTH - _LEFT, top + _LABEL - 5, times, ' text-anchor="end" class="b"'),
        ]
        for position, side in enumerate(SIDES):
            time = getattr(line, side)
            y = top + _LABEL + position * _BAR
            elements += [
                f'<rect class="{side}" x="{_LEFT}" y="{y:.0f}" width="{scale * time.median:.2f}" '
                f'height="{_BAR - 2}"/>',
                f'<path d="M{_LEFT + scale * time.q1:.1f} {y + _BAR / 2 - 1:.0f}'
                f'H{_LEFT + scale * time.q3:.1f}"/>',
                text(
                    _LEFT + scale * time.q3 + 5,
                    y + _BAR - 4,
                    f"{side} {_figure(time.median, unit)}",
                ),
            ]
        top += _LABEL + len(SIDES) * _BAR + _GAP
    return elements, top


def svg(results: Results) -> str:
    """The chart of a run as the text of an SVG file, the same for the same results.

    It has the times of an entity, and below them the query of the headline, if that was measured.

    Raises:
        NothingToPlot: no mix was measured at two attribute counts or more.
    """
    lines, where = _mix(results), results.environment
    types = _MODELS.get(lines[0].mix, f"{lines[0].mix} types")
    elements, top = titled(
        f"Receiving an entity, reading {READ} properties",
        f"µs per entity, {types}, {where.backend} backend",
        f"{where.python}, {where.cpu}",
    )
    drawn, end = rows(((f"{line.properties:,} properties", line) for line in lines), top, "µs")
    elements += drawn
    query = headline.query(results)
    if query is not None:
        drawn, end = rows([(headline.label(query), query)], end + _GAP, "ms")
        elements += drawn
    return document(end, elements)


def calls_svg(results: Results) -> str:
    """The chart of the calls of a run through the client: the wall time of each, on one scale.

    Raises:
        NothingToPlot: no calls were measured.
    """
    if not results.end_to_end:
        raise NothingToPlot("there are no calls in this run; measure without --kind")
    elements, top = titled(
        "Wall time of a call, stock above lazy",
        f"entities x properties, {results.environment.backend} backend,",
        "over gRPC to a server on the same machine",
    )
    labelled = (
        (f"{line.call}, {line.entities:,} x {line.properties:,}, {line.done}", line)
        for line in results.end_to_end
    )
    drawn, end = rows(labelled, top, "ms")
    return document(end, [*elements, *drawn])
