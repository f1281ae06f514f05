"""Results as tables and as a chart."""

from __future__ import annotations

import dataclasses
import itertools
import re
from xml.etree import ElementTree

import pytest
from rich.console import Console

from lazyentity.bench import chart, tables
from lazyentity.bench.results import Line, Results

from .made import make_results

SVG = "{http://www.w3.org/2000/svg}"


def _printed(made: Results, width: int = 80) -> str:
    console = Console(width=width)
    with console.capture() as printed:
        tables.show(made, console)
    return printed.get()


def test_conversions_have_a_ratio_for_each_read() -> None:
    """Times are of the middle read; a missing case is a dash."""
    made = make_results(ratio=8)
    lines = [line for line in made.lines if (line.properties, line.done) != (20, "all read")]
    shown = _printed(dataclasses.replace(made, lines=lines), 120)
    rows = [line.split() for line in shown.splitlines()]
    assert ["strings", "5", "40.0", "5.00", "8.0x", "8.0x", "8.0x"] in rows
    assert ["strings", "20", "160.0", "20.0", "8.0x", "8.0x", "-"] in rows


def test_calls_have_the_ratio_of_cpu_time() -> None:
    rows = [line.split() for line in _printed(make_results(ratio=8), 120).splitlines()]
    expected = "query 300 x 100 1 read 800.0 ms 100.0 ms 8.0x ±15% 16.0x ±15%"
    assert expected.split() in rows


def test_pages() -> None:
    """They name the day and the software, and have the tables as they are in a wide terminal."""
    made = make_results(ratio=8)
    page = tables.page(made)
    assert page.startswith("Measured on 2024-05-06: CPython")
    assert ".. code-block:: text\n\n   read:" in page
    assert max(map(len, page.splitlines())) <= tables.PAGE_WIDTH + 3


def test_headlines() -> None:
    """They are of a query of 300 entities of 100 properties."""
    made = make_results(ratio=8)
    sentence = " ".join(tables.headline(made, "query").split())
    assert "300 entities of 100 properties, one of them read, takes 100.0 ms instead" in sentence
    assert "of 800.0 ms with the" in sentence
    assert tables.headline(made, "asyncio query").startswith("An asyncio query")
    with pytest.raises(ValueError, match="no query of 300"):
        tables.headline(dataclasses.replace(made, lines=[]), "query")


def drawn(made: Results) -> ElementTree.Element:
    return ElementTree.fromstring(chart.svg(made))  # noqa: S314  # ours


def small(made: Results) -> list[Line]:
    return [
        line
        for line in made.lines
        if (line.case, line.done) == ("mixed", chart.READ) and line.properties <= chart.MOST
    ]


def bars(root: ElementTree.Element, side: str) -> list[ElementTree.Element]:
    return [bar for bar in root.iter(f"{SVG}rect") if bar.attrib["class"] == side]


def spreads(root: ElementTree.Element) -> list[float]:
    """The ends of the lines from quartile to quartile, one after the other."""
    found = (re.match(r"M([\d.]+) \d+H(.+)", path.attrib["d"]) for path in root.iter(f"{SVG}path"))
    return [float(end) for line in found if line is not None for end in line.groups()]


def without_calls(made: Results) -> Results:
    return dataclasses.replace(made, lines=[line for line in made.lines if line.section == "read"])


def test_bars_start_at_zero_and_are_in_proportion() -> None:
    """The bars of both sides have one scale, and each has the spread of its figure."""
    made = without_calls(make_results())
    root = drawn(made)
    lines = small(made)
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


def test_texts() -> None:
    """Each row says for how many properties it is, and how many times as long stock takes.

    The query of the headline has a separate scale, if it was measured. Equal times have labels
    below each other.
    """
    made = make_results(ratio=8)
    root = drawn(made)
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    for line in small(made):
        assert f"{line.properties} properties" in texts
    assert texts.count("8.0x") == len(small(made)) + 1
    assert "500 properties" not in texts
    assert "stock 800 ms" in texts
    assert len(bars(root, "stock")) == len(bars(drawn(without_calls(made)), "stock")) + 1
    labels = [float(text.attrib["y"]) for text in drawn(make_results(1)).iter(f"{SVG}text")][3:]
    assert min(after - before for before, after in itertools.pairwise(sorted(set(labels)))) >= 12


def test_charts_need_their_measurements() -> None:
    nothing = dataclasses.replace(make_results(), lines=[])
    for draw in (chart.svg, chart.documents, chart.by_read):
        with pytest.raises(chart.NothingToPlot):
            draw(nothing)
