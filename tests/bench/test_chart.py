from __future__ import annotations

import dataclasses
import re
from xml.etree import ElementTree

import pytest

from lazyentity.bench.measure import results
from lazyentity.bench.report import chart

from .made import make_results

pytestmark = pytest.mark.any_backend

SVG = "{http://www.w3.org/2000/svg}"


def drawn(made: results.Results) -> ElementTree.Element:
    return ElementTree.fromstring(chart.svg(made))  # noqa: S314  # ours


def points(element: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in element.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def mixed(made: results.Results) -> list[results.Conversion]:
    return [line for line in made.conversion if (line.mix, line.read) == ("mixed", chart.READ)]


def test_axes_start_at_zero_and_clip_nothing() -> None:
    """Lines are in proportion to the figures, from a zero at the lowest line of the grid."""
    made = make_results()
    root = drawn(made)
    (grid,) = root.iter(f"{SVG}path")
    *_, top = heights = [float(y) for y in re.findall(r"M\d+ ([\d.]+)", grid.attrib["d"])]
    zero = heights[0]
    assert zero == max(heights)
    assert top == min(heights)
    stock, lazy = (points(line) for line in root.iter(f"{SVG}polyline"))
    lines = mixed(made)
    scale = (zero - stock[-1][1]) / lines[-1].stock.median
    for drawn_line, side in ((stock, "stock"), (lazy, "lazy")):
        for (_, y), line in zip(drawn_line, lines, strict=True):
            assert zero - y == pytest.approx(scale * getattr(line, side).median, abs=0.2)
    bands = [points(band) for band in root.iter(f"{SVG}polygon")]
    assert len(bands) == 2, "the spread is drawn"
    height = float(root.attrib["height"])
    assert all(0 < y < height for band in bands for _, y in band)


def test_highest_quartile_is_inside() -> None:
    """One wild third quartile changes the scale instead of leaving the chart."""
    made = make_results()
    wild = [
        dataclasses.replace(line, stock=dataclasses.replace(line.stock, q3=1e6))
        for line in made.conversion
    ]
    root = drawn(dataclasses.replace(made, conversion=wild))
    band = next(root.iter(f"{SVG}polygon"))
    title_ends = max(float(text.attrib["y"]) for text in list(root.iter(f"{SVG}text"))[:2])
    assert min(y for _, y in points(band)) > title_ends


def test_svg_is_small_and_reproducible() -> None:
    """The same results give the same SVG, of a few kilobytes."""
    made = make_results()
    text = chart.svg(made)
    assert drawn(made).tag == f"{SVG}svg"
    assert chart.svg(made) == text
    assert len(text) < 5000


def test_another_mix() -> None:
    """Without mixed entities the chart is of another mix, and says of which."""
    made = make_results()
    strings = [line for line in made.conversion if line.mix == "strings"]
    assert "strings types" in chart.svg(dataclasses.replace(made, conversion=strings))


def test_labels_that_would_overlap_are_moved_apart() -> None:
    """Equal times have labels below each other."""
    root = drawn(make_results(ratio=1))
    labels = [text for text in root.iter(f"{SVG}text") if "fill" in text.attrib]
    first, second = (float(label.attrib["y"]) for label in labels)
    assert abs(second - first) >= 12


def test_one_count_is_no_chart() -> None:
    """A run of a single attribute count has no line to draw, and says so."""
    made = make_results()
    single = [line for line in made.conversion if line.properties == 20]
    with pytest.raises(chart.NothingToPlot, match="two attribute counts"):
        chart.svg(dataclasses.replace(made, conversion=single))
