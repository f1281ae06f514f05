"""The charts of a run: times of stock and lazy entities, as bars.

They have the width of a phone, colours that differ for the colour-blind, a word and a figure at
each bar, and a dark form for dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from lazyentity.bench.harness import PER_ENTITY
from lazyentity.bench.results import Line, Results
from lazyentity.bench.tables import find

READ = "4 read"
MOST = 100
"""The most properties of an entity that is drawn, where there are two smaller counts or more."""
SIDES = "stock", "lazy"
"""The attributes of a line that are drawn, which are also the classes of their bars."""
WIDTH = 480

_FIRST_CHOICE = "mixed"
_LEFT, _LONGEST = 8, 340
_TITLE, _LINE = 24, 20
_LABEL, _BAR, _GAP = 20, 16, 12
_WHOLE_FROM = 100

# The colours of Okabe and Ito, which the colour-blind can tell apart. A page that is dark by a
# button has to tell its images: see docs/_static/tables.css.
_STYLE = (
    "<style>.page{fill:#fff}text{fill:#1b1b1b}path{stroke:#1b1b1b}.b{font-weight:bold}"
    ".stock{fill:#d55e00}.eager{fill:#009e73}.lazy{fill:#0072b2}"
    "@media(prefers-color-scheme:dark){.page{fill:#131416}text{fill:#e6e6e6}path{stroke:#e6e6e6}"
    ".stock{fill:#e69f00}.eager{fill:#00c08b}.lazy{fill:#56b4e9}}</style>"
)


class NothingToPlot(Exception):
    """The run did not measure what the chart shows."""


def _lines(results: Results) -> list[Line]:
    """The lines to draw, by rising number of properties."""
    of_case: dict[str, list[Line]] = {_FIRST_CHOICE: []}
    for line in results.lines:
        if (line.done, line.unit) == (READ, PER_ENTITY):
            of_case.setdefault(line.case, []).append(line)
    for lines in of_case.values():
        if len(lines) > 1:
            small = [line for line in lines if line.properties <= MOST]
            drawn = small if len(small) > 1 else lines
            return sorted(drawn, key=lambda line: line.properties)
    raise NothingToPlot(f"a chart needs {READ} at two attribute counts or more")


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


def rows(lines: Iterable[tuple[str, Line]], top: float, unit: str) -> tuple[list[str], float]:
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


def _drawn(
    title: str,
    results: Results,
    lines: list[Line],
    query: Line | None,
    words: tuple[str, str] = ("entity", "properties"),
) -> str:
    """A chart of entities by their number of properties, with a query below them.

    Args:
        title: of the chart.
        results: the run, for its environment.
        lines: of the entities, by rising number of properties.
        query: its line, if it was measured.
        words: what the client calls an entity and its properties.
    """
    one, parts = words
    where = results.environment
    elements, top = titled(
        title,
        f"µs per {one}, {lines[0].case} types, {where.backend} backend",
        f"{where.python}, {where.cpu}",
    )
    drawn, end = rows(((f"{line.properties:,} {parts}", line) for line in lines), top, "µs")
    elements += drawn
    if query is not None:
        label = f"query, {query.entities} x {query.properties} {parts}, {query.done}"
        drawn, end = rows([(label, query)], end + _GAP, "ms")
        elements += drawn
    return document(end, elements)


def svg(results: Results) -> str:
    """The chart of a run as the text of an SVG file, the same for the same results.

    It has the times of an entity, and below them a query, if that was measured.

    Raises:
        NothingToPlot: no mix was measured at two attribute counts or more.
    """
    title = "Receiving an entity, reading 4 properties"
    return _drawn(title, results, _lines(results), find(results, "query", 300, 100))


def documents(results: Results) -> str:
    """The chart of documents of Firestore: their conversion, and below it a query.

    Raises:
        NothingToPlot: the conversion of mixed documents was not measured.
    """
    lines = [
        line
        for line in results.lines
        if (line.section, line.case) == ("documents", _FIRST_CHOICE) and line.properties <= MOST
    ]
    if not lines:
        raise NothingToPlot("a chart of documents needs their conversion, of mixed fields")
    query = find(results, "query, to_dict(), mixed", 300, 100)
    words = "document", "fields"
    return _drawn("Receiving a document, to_dict()", results, lines, query, words)


def by_read(results: Results) -> str:
    """The chart of an entity of 100 mixed properties by the number that is read.

    Stock decodes all of them in any case, and so does eager mode.

    Raises:
        NothingToPlot: a number was not measured.
    """
    measured = {
        line.done: line
        for line in results.lines
        if (line.section, line.case, line.properties) == ("read", _FIRST_CHOICE, MOST)
    }
    try:
        bars = [
            ("stock, however many you read", "stock", measured["0 read"].stock),
            ("eager mode, however many you read", "eager", measured["eager"].lazy),
            *(
                (f"lazy, {number} read", "lazy", measured[f"{number} read"].lazy)
                for number in ("0", "1", "4", "half", "all")
            ),
        ]
    except KeyError as error:
        raise NothingToPlot(f"a chart by properties read needs {error}") from error
    where = results.environment
    elements, top = titled(
        f"Receiving an entity of {MOST} properties",
        f"µs per entity, {_FIRST_CHOICE} types, {where.backend} backend",
        f"{where.python}, {where.cpu}",
    )
    scale = _LONGEST / max(time.median for _, _, time in bars)
    for label, style, time in bars:
        y = top + _LABEL
        elements += [
            text(_LEFT, y - 5, label),
            f'<rect class="{style}" x="{_LEFT}" y="{y:.0f}" width="{scale * time.median:.2f}" '
            f'height="{_BAR - 2}"/>',
            text(_LEFT + scale * time.median + 5, y + _BAR - 4, _figure(time.median, "µs")),
        ]
        top += _LABEL + _BAR + _GAP
    return document(top, elements)
