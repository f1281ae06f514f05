"""The chart of a run: time per entity and the ratio, over the number of properties."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from lazyentity.bench.results import Conversion, Results
from lazyentity.bench.stats import Summary

_READ = "4"
_SIDES = (("stock", "stock"), ("lazy", "lazy"), ("upb_parse", "upb parse alone"))
_RATIO_READS = ("4", "half", "all")
_HEADROOM = 1.05


class NothingToPlot(Exception):
    """The run has no mix measured at several attribute counts."""


def _lines(results: Results, mix: str, read: str) -> list[Conversion]:
    chosen = [line for line in results.conversion if (line.mix, line.read) == (mix, read)]
    return sorted(chosen, key=lambda line: line.properties)


def _draw(axes: Axes, label: str, counts: Sequence[int], summaries: Sequence[Summary]) -> None:
    medians = [summary.median for summary in summaries]
    (line,) = axes.plot(counts, medians, marker="o", markersize=3, label=label)
    axes.fill_between(
        counts,
        [summary.q1 for summary in summaries],
        [summary.q3 for summary in summaries],
        color=line.get_color(),
        alpha=0.25,
        linewidth=0,
    )


def _finish(axes: Axes, counts: Sequence[int], highest: float, label: str) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(counts))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelrotation=60, labelsize=7)
    axes.set_xlabel("properties (log scale)")
    axes.set_ylabel(label)
    axes.set_ylim(0, highest * _HEADROOM)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)


def draw(results: Results) -> Figure:
    """Two rows of panels, one column for each mix: time per entity at four read, then the ratios.

    Every y axis starts at zero and ends above the highest third quartile; the bands are quartiles.

    Raises:
        NothingToPlot: no mix was measured at two attribute counts or more.
    """
    mixes = [
        mix
        for mix in dict.fromkeys(line.mix for line in results.conversion)
        if len(_lines(results, mix, _READ)) > 1
    ]
    if not mixes:
        raise NothingToPlot(f"a chart needs {_READ} read at two attribute counts or more")
    figure = Figure(figsize=(4.6 * len(mixes), 7.6), layout="constrained")
    panels = figure.subplots(2, len(mixes), squeeze=False)
    for column, mix in enumerate(mixes):
        _times(panels[0][column], results, mix)
        _ratios(panels[1][column], results, mix)
    where = results.environment
    figure.suptitle(
        f"Bytes in, entities out ({where.backend} backend, {where.python}, {where.cpu})\n"
        "medians, bands from first to third quartile; one machine, synthetic entities",
        fontsize=9,
    )
    return figure


def _times(axes: Axes, results: Results, mix: str) -> None:
    lines = _lines(results, mix, _READ)
    counts = [line.properties for line in lines]
    for attribute, label in _SIDES:
        _draw(axes, label, counts, [getattr(line, attribute) for line in lines])
    highest = max(getattr(line, attribute).q3 for line in lines for attribute, _ in _SIDES)
    axes.set_title(f"{mix}, {_READ} read", fontsize=9)
    _finish(axes, counts, highest, "µs per entity")


def _ratios(axes: Axes, results: Results, mix: str) -> None:
    highest, all_counts = 1.0, set()
    for read in _RATIO_READS:
        if lines := _lines(results, mix, read):
            counts = [line.properties for line in lines]
            _draw(axes, f"{read} read", counts, [line.ratio for line in lines])
            highest = max(highest, *(line.ratio.q3 for line in lines))
            all_counts.update(counts)
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set_title(f"{mix}: stock time / lazy time", fontsize=9)
    _finish(axes, sorted(all_counts), highest, "times faster than stock")


def svg(results: Results) -> str:
    """The chart of a run as the text of an SVG file, the same for the same results.

    Raises:
        NothingToPlot: the run holds nothing that makes a line.
    """
    file = io.BytesIO()
    # Matplotlib's own choice would put a random salt into every id, and the date into the metadata.
    with matplotlib.rc_context({"svg.hashsalt": "lazyentity"}):
        draw(results).savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue().decode()
