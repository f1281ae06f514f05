"""The charts of a run: times of stock and lazy entities, as bars.

They have the width of a phone, colours that differ for the colour-blind, a word and a figure at
each bar, and a dark form for dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from lazyentity.bench.results import Line, Results, Summary
from lazyentity.bench.tables import find

READ = "4 read"
MOST = 100
"""The most properties of an entity that is drawn."""
WIDTH = 480

_MIX = "mixed"
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

Bar = tuple[str, str, Summary]
"""Its class in the style, the word at it, and its time."""
Row = tuple[str, str, Sequence[Bar]]
"""A label, a text at the right end, and the bars below them."""


def _text(x: float, y: float, content: str, style: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}"{style}>{escape(content)}</text>'


def _rows(rows: Sequence[Row], top: float, unit: str) -> tuple[list[str], float]:
    """The elements of rows on one scale, which starts at zero, and where they end.

    A bar is as long as the median, with a thin line from the first to the third quartile.
    """
    scale = _LONGEST / max(time.q3 for _, _, bars in rows for _, _, time in bars)
    elements = []
    for label, right, bars in rows:
        elements.append(_text(_LEFT, top + _LABEL - 5, label))
        if right:
            style = ' text-anchor="end" class="b"'
            elements.append(_text(WIDTH - _LEFT, top + _LABEL - 5, right, style))
        top += _LABEL
        for style, word, time in bars:
            digits = 1 if time.median < _WHOLE_FROM else 0
            figure = f"{word} {time.median:,.{digits}f} {unit}".lstrip()
            elements += [
                f'<rect class="{style}" x="{_LEFT}" y="{top:.0f}" '
                f'width="{scale * time.median:.2f}" height="{_BAR - 2}"/>',
                f'<path d="M{_LEFT + scale * time.q1:.1f} {top + _BAR / 2 - 1:.0f}'
                f'H{_LEFT + scale * time.q3:.1f}"/>',
                _text(_LEFT + scale * time.q3 + 5, top + _BAR - 4, figure),
            ]
            top += _BAR
        top += _GAP
    return elements, top


def _document(
    title: str, subtitle: str, results: Results, groups: Iterable[tuple[str, Sequence[Row]]]
) -> str:
    """The text of an SVG file, of groups of rows that have a unit and a scale each."""
    where = results.environment
    elements = [_text(_LEFT, _TITLE, title, ' class="b" font-size="17"')]
    subtitles = f"{subtitle}, {_MIX} types, {where.backend} backend", f"{where.python}, {where.cpu}"
    for number, line in enumerate(subtitles, start=1):
        elements.append(_text(_LEFT, _TITLE + _LINE * number, line))
    height: float = _TITLE + _LINE * len(subtitles)
    for unit, rows in groups:
        drawn, height = _rows(rows, height + _GAP, unit)
        elements += drawn
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


def _compared(label: str, line: Line) -> Row:
    """Both sides, and the ratio of stock over lazy."""
    ratio = line.ratio.median
    times = f"{ratio:.{1 if ratio < 10 else 0}f}x"
    return label, times, (("stock", "stock", line.stock), ("lazy", "lazy", line.lazy))


def _growth(
    results: Results, title: str, section: str, done: str, call: str, words: tuple[str, str]
) -> str:
    """A chart of entities by their number of properties, with a query below them.

    Args:
        results: of the run.
        title: of the chart.
        section: of the entities.
        done: with each of the entities.
        call: the query.
        words: what the client calls an entity and its properties.

    Raises:
        ValueError: they were not measured.
    """
    one, parts = words
    shown = section, _MIX, done
    lines = [
        line
        for line in results.lines
        if (line.section, line.case, line.done) == shown and line.properties <= MOST
    ]
    query = find(results, call, 300, 100)
    label = f"query, {query.entities} x {query.properties} {parts}, {query.done}"
    groups = (
        ("µs", [_compared(f"{line.properties:,} {parts}", line) for line in lines]),
        ("ms", [_compared(label, query)]),
    )
    return _document(title, f"µs per {one}", results, groups)


def svg(results: Results) -> str:
    """The chart of entities as the text of an SVG file, the same for the same results."""
    title = "Receiving an entity, reading 4 properties"
    return _growth(results, title, "read", READ, "query", ("entity", "properties"))


def documents(results: Results) -> str:
    """The chart of documents of Firestore."""
    title, call = "Receiving a document, to_dict()", "query, to_dict(), mixed"
    return _growth(results, title, "documents", "to_dict()", call, ("document", "fields"))


def by_read(results: Results) -> str:
    """The chart of an entity of 100 mixed properties by the number that is read.

    Stock decodes all of them in any case, and so does eager mode.

    Raises:
        KeyError: a number was not measured.
    """
    measured = {
        line.done: line
        for line in results.lines
        if (line.section, line.case, line.properties) == ("read", _MIX, MOST)
    }
    stock, eager = measured["0 read"].stock, measured["eager"].lazy
    rows: list[Row] = [
        ("stock, however many you read", "", [("stock", "", stock)]),
        ("eager mode, however many you read", "", [("eager", "", eager)]),
    ]
    for number in ("0", "1", "4", "half", "all"):
        bar = "lazy", "", measured[f"{number} read"].lazy
        rows.append((f"lazy, {number} read", "", [bar]))
    title = f"Receiving an entity of {MOST} properties"
    return _document(title, "µs per entity", results, [("µs", rows)])
