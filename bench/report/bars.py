"""The chart of calls through the client: wall time of each, stock next to lazy."""

from __future__ import annotations

from collections.abc import Iterator

from lazyentity.bench.measure.results import EndToEnd, Results
from lazyentity.bench.report.chart import SIDES, document, text

_WIDTH, _LEFT, _RIGHT = 720, 250, 630
_TOP, _BAR, _GAP = 62, 13, 12
_ROW = len(SIDES) * _BAR + _GAP


def _row(line: EndToEnd, top: float, per_ms: float) -> Iterator[str]:
    label = f"{line.call}, {line.entities:,} x {line.properties:,}, {line.done}"
    yield text(_LEFT - 8, top + _BAR + 4, label, "end")
    for position, (name, colour) in enumerate(SIDES):
        time = getattr(line, name).median
        width, y = per_ms * time, top + position * _BAR
        yield (
            f'<rect x="{_LEFT}" y="{y:.0f}" width="{width:.1f}" height="{_BAR - 1}" '
            f'fill="{colour}"/>'
        )
        yield text(_LEFT + width + 5, y + _BAR - 3, f"{time:,.1f} ms", style=f' fill="{colour}"')


def svg(results: Results) -> str:
    """The chart of the calls of a run as the text of an SVG file, the same for the same results.

    A bar is the median wall time of a call. The x axis starts at zero.

    Raises:
        ValueError: no calls were measured.
    """
    lines = results.end_to_end
    if not lines:
        raise ValueError("there are no calls in this run; measure without --kind")
    where = results.environment
    per_ms = (_RIGHT - _LEFT) / max(line.stock.median for line in lines)
    elements = [
        text(8, 24, "Wall time of a call", style=' font-size="16" font-weight="bold"'),
        text(
            8,
            44,
            "stock above lazy; entities x properties, over gRPC to a server on the same machine; "
            f"{where.backend} backend",
        ),
    ]
    for position, line in enumerate(lines):
        elements += _row(line, _TOP + position * _ROW, per_ms)
    return document(_WIDTH, _TOP + len(lines) * _ROW, elements)
