"""The chart of calls through the client: wall time of each call, stock above lazy."""

from __future__ import annotations

from collections.abc import Iterator

from lazyentity.bench.measure.results import EndToEnd, Results
from lazyentity.bench.report.chart import BOLD, SIDES, document, text

_WIDTH, _LEFT, _RIGHT = 680, 8, 580
_TOP, _LABEL, _BAR, _GAP = 68, 20, 15, 12
_ROW = _LABEL + len(SIDES) * _BAR + _GAP


def _row(line: EndToEnd, top: float, per_ms: float) -> Iterator[str]:
    label = f"{line.call}, {line.entities:,} x {line.properties:,}, {line.done}"
    yield text(_LEFT, top + _LABEL - 5, label)
    for position, (name, colour) in enumerate(SIDES):
        time = getattr(line, name).median
        width, y = per_ms * time, top + _LABEL + position * _BAR
        yield (
            f'<rect x="{_LEFT}" y="{y:.0f}" width="{width:.1f}" height="{_BAR - 1}" '
            f'fill="{colour}"/>'
        )
        value = f"{time:,.1f} ms"
        yield text(_LEFT + width + 5, y + _BAR - 2, value, style=f' fill="{colour}"')


def svg(results: Results) -> str:
    """The chart of the calls of a run as the text of an SVG file, the same for the same results.

    A bar is the median wall time of a call. The x axis starts at zero.

    Raises:
        ValueError: no calls were measured.
    """
    lines = results.end_to_end
    if not lines:
        raise ValueError("there are no calls in this run; measure without --kind")
    per_ms = (_RIGHT - _LEFT) / max(
        getattr(line, name).median for line in lines for name, _ in SIDES
    )
    where = f"over gRPC to a server on the same machine; {results.environment.backend} backend"
    elements = [
        text(_LEFT, 24, "Wall time of a call, stock above lazy", style=BOLD),
        text(_LEFT, 48, f"entities x properties, {where}"),
    ]
    for position, line in enumerate(lines):
        elements += _row(line, _TOP + position * _ROW, per_ms)
    return document(_WIDTH, _TOP + len(lines) * _ROW, elements)
