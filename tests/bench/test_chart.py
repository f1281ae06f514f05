from __future__ import annotations

import dataclasses
import itertools
import re
from xml.etree import ElementTree

import pytest

from lazyentity.bench.harness import lines, results
from lazyentity.bench.report import chart, headline

from .made import make_results

pytestmark = pytest.mark.any_backend

SVG = "{http://www.w3.org/2000/svg}"
CHARACTER = 9
"""An upper bound of the width of a letter of 15 pixels, on average."""


def drawn(made: results.Results) -> ElementTree.Element:
    return ElementTree.fromstring(chart.svg(made))  # noqa: S314  # ours


def mixed(made: results.Results) -> list[lines.Conversion]:
    return [line for line in made.conversion if (line.mix, line.read) == ("mixed", chart.READ)]


def small(made: results.Results) -> list[lines.Conversion]:
    return [line for line in mixed(made) if line.properties <= chart.MOST]


def bars(root: ElementTree.Element, side: str) -> list[ElementTree.Element]:
    return [bar for bar in root.iter(f"{SVG}rect") if bar.attrib["class"] == side]


def spreads(root: ElementTree.Element) -> list[float]:
    """The ends of the lines from quartile to quartile, one after the other."""
    found = (re.match(r"M([\d.]+) \d+H(.+)", path.attrib["d"]) for path in root.iter(f"{SVG}path"))
    return [float(end) for line in found if line is not None for end in line.groups()]


def without_calls(made: results.Results) -> results.Results:
    return dataclasses.replace(made, end_to_end=[])


def test_bars_start_at_zero_and_are_in_proportion() -> None:
    """The bars of both sides have one scale, and each has the spread of its figure."""
    made = without_calls(make_results())
    root = drawn(made)
    lines = small(made)
    assert len(lines) > 1
    stock, lazy = bars(root, "stock"), bars(root, "lazy")
    assert len({bar.attrib["x"] for bar in (*stock, *lazy)}) == 1
    scale = float(stock[-1].attrib["width"]) / lines[-1].stock.median
    for side, ours in (("stock", stock), ("lazy", lazy)):
        expected = [scale * getattr(line, side).median for line in lines]
        assert [float(bar.attrib["width"]) for bar in ours] == pytest.approx(expected, abs=0.2)
    left = float(stock[0].attrib["x"])
    assert spreads(root) == pytest.approx(
        [
            left + scale * quartile
            for line in lines
            for side in (line.stock, line.lazy)
            for quartile in (side.q1, side.q3)
        ],
        abs=0.2,
    )


def test_highest_quartile_is_inside() -> None:
    """One wild third quartile changes the scale instead of leaving the chart, and so do texts."""
    made = make_results()
    wild = [
        dataclasses.replace(line, stock=dataclasses.replace(line.stock, q3=1e6))
        for line in made.conversion
    ]
    root = drawn(dataclasses.replace(made, conversion=wild))
    width = float(root.attrib["width"])
    assert width == chart.WIDTH
    assert max(spreads(root)) < width
    for text in root.iter(f"{SVG}text"):
        assert float(text.attrib["y"]) < float(root.attrib["height"])
        if "text-anchor" not in text.attrib:
            assert float(text.attrib["x"]) + CHARACTER * len(text.text or "") < width + CHARACTER


def test_texts() -> None:
    """Each row says for how many properties it is, and how many times as long stock takes.

    The query of the headline has a separate scale, if it was measured.
    """
    made = make_results(ratio=8)
    texts = [text.text or "" for text in drawn(made).iter(f"{SVG}text")]
    for line in small(made):
        assert f"{line.properties} properties" in texts
    assert texts.count("8.0x") == len(small(made)) + 1
    assert not any(f"{line.properties:,} properties" in texts for line in mixed(made)[-1:])
    assert mixed(made)[-1].properties > chart.MOST
    query = headline.query(made)
    assert query is not None
    assert f"stock {query.stock.median:.1f} ms" in texts
    assert len(bars(drawn(made), "stock")) == len(bars(drawn(without_calls(made)), "stock")) + 1


def test_svg_is_small_and_reproducible() -> None:
    """The same results give the same SVG, of a few kilobytes."""
    made = make_results()
    text = chart.svg(made)
    assert drawn(made).tag == f"{SVG}svg"
    assert chart.svg(made) == text
    assert len(text) < 5000


def _brightness(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("is_dark", [False, True])
def test_dark_pages(is_dark: bool) -> None:
    """A chart brings the page that its texts are read on, in both forms, with enough contrast."""
    style = chart.svg(make_results()).split("<style>")[1].split("</style>")[0]
    light, dark = style.split("@media(prefers-color-scheme:dark)")
    colours = {
        name: (value * 2 if len(value) == 3 else value)
        for name, value in re.findall(
            r"(\.?\w+)\{(?:fill|stroke):#(\w+)\}", dark if is_dark else light
        )
    }
    page = _brightness(f"#{colours['.page']}")
    for name, least in (("text", 7), ("path", 7), (".stock", 2), (".lazy", 2)):
        other = _brightness(f"#{colours[name]}")
        contrast = (max(page, other) + 0.05) / (min(page, other) + 0.05)
        assert contrast >= least, name


def test_labels_do_not_overlap() -> None:
    """Equal times have labels below each other."""
    root = drawn(make_results(ratio=1))
    labels = [float(text.attrib["y"]) for text in root.iter(f"{SVG}text")][3:]
    rows = sorted(set(labels))
    assert min(after - before for before, after in itertools.pairwise(rows)) >= 12


def test_chosen_lines() -> None:
    """Where fewer than two counts are small, all are drawn; a single one is no chart.

    Without mixed entities the chart is of another mix, and says of which.
    """
    made = without_calls(make_results())
    large = [line for line in mixed(made) if line.properties >= chart.MOST]
    root = drawn(dataclasses.replace(made, conversion=large))
    assert len(bars(root, "lazy")) == len(large) > 1
    strings = [line for line in made.conversion if line.mix == "strings"]
    assert "strings types" in chart.svg(dataclasses.replace(made, conversion=strings))
    single = [line for line in made.conversion if line.properties == 20]
    with pytest.raises(chart.NothingToPlot, match="two attribute counts"):
        chart.svg(dataclasses.replace(made, conversion=single))


def test_calls_are_in_proportion() -> None:
    """Each call has a bar for each side, as long as its median, inside of the chart."""
    made = make_results()
    root = ElementTree.fromstring(chart.calls_svg(made))  # noqa: S314  # ours
    background, *drawn = root.iter(f"{SVG}rect")
    assert background.attrib["height"] == "100%"
    times = [side.median for line in made.end_to_end for side in (line.stock, line.lazy)]
    scale = float(drawn[0].attrib["width"]) / times[0]
    assert [float(bar.attrib["width"]) for bar in drawn] == pytest.approx(
        [scale * time for time in times], abs=0.1
    )
    assert all(
        float(bar.attrib["x"]) + float(bar.attrib["width"]) < float(root.attrib["width"])
        and float(bar.attrib["y"]) + float(bar.attrib["height"]) < float(root.attrib["height"])
        for bar in drawn
    )
    with pytest.raises(chart.NothingToPlot, match="no calls"):
        chart.calls_svg(without_calls(made))
