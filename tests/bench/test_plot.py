from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import pytest

from lazyentity.bench import plot

from .made import make_results


def test_axes_start_at_zero_and_clip_nothing() -> None:
    """Every panel starts at zero and has room for its highest line and its spread."""
    made = make_results()
    figure = plot.draw(made)
    assert len(figure.axes) == 2 * 3
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low == 0
        assert axes.lines
        assert axes.collections, "the spread is drawn"
        assert axes.dataLim.y1 < high


def test_highest_quartile_is_inside() -> None:
    """One wild third quartile widens its axis instead of leaving the chart."""
    made = make_results()
    wild = [
        dataclasses.replace(line, stock=dataclasses.replace(line.stock, q3=1e6))
        for line in made.conversion
    ]
    figure = plot.draw(dataclasses.replace(made, conversion=wild))
    assert figure.axes[0].get_ylim()[1] > 1e6


def test_svg_is_well_formed_and_reproducible() -> None:
    """The same results give the same SVG."""
    made = make_results()
    text = plot.svg(made)
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314  # ours
    assert plot.svg(made) == text


def test_one_count_is_no_chart() -> None:
    """A run of a single attribute count has no line to draw, and says so."""
    made = make_results()
    single = [line for line in made.conversion if line.properties == 20]
    with pytest.raises(plot.NothingToPlot, match="two attribute counts"):
        plot.draw(dataclasses.replace(made, conversion=single))
