"""The chart of a run: time per entity over the number of properties, stock next to lazy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from lazyentity.bench.measure.results import Conversion, Results
from lazyentity.bench.measure.stats import Summary

READ = "4"
_FIRST_CHOICE = "mixed"
_MODELS = {"Model": "models of six types"}
SIDES = (("stock", "#c0392b"), ("lazy", "#1f6f4a"))
"""The attributes of a line that are drawn, and their colours."""
BOLD = ' font-size="18" font-weight="bold"'
"""The attributes of a title."""

_WIDTH, _HEIGHT = 680, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 548, 66, 286
_TICKS = 5
_HEADROOM = 1.05
_TEXT_HEIGHT = 18
_WHOLE_FROM = 100


class NothingToPlot(Exception):
    """The run has no mix measured at several attribute counts."""


def _mix(results: Results) -> list[Conversion]:
    """The lines to draw, by rising number of properties."""
    of_mix: dict[str, list[Conversion]] = {_FIRST_CHOICE: []}
    for line in results.conversion:
        if line.read == READ:
            of_mix.setdefault(line.mix, []).append(line)
    for lines in of_mix.values():
        if len(lines) > 1:
            return sorted(lines, key=lambda line: line.properties)
    raise NothingToPlot(f"a chart needs {READ} read at two attribute counts or more")


def _step(highest: float) -> float:
    """The distance of ticks: 1, 2 or 5 times a power of ten, for at most `_TICKS` up to highest."""
    power: float = 10 ** math.floor(math.log10(highest / _TICKS))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor * _TICKS >= highest)


def _ticks(highest: float) -> list[float]:
    step = _step(highest)
    return [step * number for number in range(math.floor(highest / step) + 1)]


def text(x: float, y: float, content: str, anchor: str = "start", style: str = "") -> str:
    """The element of a text."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{style}>{escape(content)}</text>'


def document(width: int, height: int, elements: Iterable[str]) -> str:
    """The text of an SVG file, white behind its elements."""
    return "\n".join(
        (
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="15">',
            '<rect width="100%" height="100%" fill="#fff"/>',
            *elements,
            "</svg>\n",
        )
    )


def _points(xs: Sequence[float], ys: Sequence[float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))


def _elements(results: Results) -> Iterator[str]:
    lines = _mix(results)
    sides: dict[str, list[Summary]] = {
        name: [getattr(line, name) for line in lines] for name, _ in SIDES
    }
    most = lines[-1].properties
    highest = _HEADROOM * max(one.q3 for side in sides.values() for one in side)

    def x(properties: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * properties / most

    def y(time: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * time / highest

    where = results.environment
    title = f"Time to receive an entity and read {READ} of its properties"
    yield text(_LEFT, 24, title, style=BOLD)
    types = _MODELS.get(lines[0].mix, f"{lines[0].mix} types")
    yield text(
        _LEFT,
        48,
        f"µs per entity, {types}, {where.backend} backend, {where.python}, {where.cpu}",
    )
    grid = "".join(f"M{_LEFT} {y(tick):.1f}H{_RIGHT}" for tick in _ticks(highest))
    yield f'<path d="{grid}" stroke="#ddd"/>'
    for tick in _ticks(highest):
        yield text(_LEFT - 8, y(tick) + 5, f"{tick:,g}", "end")
    for tick in _ticks(most):
        yield text(x(tick), _BOTTOM + 20, f"{tick:,g}", "middle")
    yield text((_LEFT + _RIGHT) / 2, _BOTTOM + 44, "properties of the entity", "middle")
    xs = [x(line.properties) for line in lines]
    lowest_label = math.inf
    for name, colour in SIDES:
        side = sides[name]
        band = [*(y(one.q1) for one in side), *(y(one.q3) for one in reversed(side))]
        yield (
            f'<polygon points="{_points([*xs, *reversed(xs)], band)}" fill="{colour}" '
            'fill-opacity=".2"/>'
        )
        yield (
            f'<polyline points="{_points(xs, [y(one.median) for one in side])}" fill="none" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
        label = y(side[-1].median) + 5
        if abs(label - lowest_label) < _TEXT_HEIGHT:
            label = lowest_label + _TEXT_HEIGHT
        lowest_label = label
        last = side[-1].median
        time = f"{name} {last:,.{1 if last < _WHOLE_FROM else 0}f} µs"
        yield text(_RIGHT + 8, label, time, style=f' fill="{colour}"')


def svg(results: Results) -> str:
    """The chart of a run as the text of an SVG file, the same for the same results.

    Lines join the medians; bands reach from the first to the third quartile. The y axis starts at
    zero.

    Raises:
        NothingToPlot: no mix was measured at two attribute counts or more.
    """
    return document(_WIDTH, _HEIGHT, _elements(results))
