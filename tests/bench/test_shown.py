"""Results as tables and as a chart."""

from __future__ import annotations

import dataclasses
import itertools
from xml.etree import ElementTree

import pytest
from rich.console import Console

from lazyentity.bench import chart, tables
from lazyentity.bench.results import Results

from .made import make_results


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


def test_texts() -> None:
    """Each row says for how many properties it is, and how many times as long stock takes.

    The query of the headline has a separate scale. Equal times have labels below each other.
    """
    texts, _ = _texts_of(make_results(ratio=8))
    counts = [5, 20, 100]
    assert {f"{count} properties" for count in counts} < set(texts)
    assert texts.count("8.0x") == len(counts) + 1
    assert "500 properties" not in texts
    assert "stock 800 ms" in texts
    _, places = _texts_of(make_results(1))
    ordered = sorted(set(places[3:]))
    assert min(after - before for before, after in itertools.pairwise(ordered)) >= 12


def _texts_of(made: Results) -> tuple[list[str], list[float]]:
    root = ElementTree.fromstring(chart.svg(made))  # noqa: S314  # ours
    found = list(root.iter("{http://www.w3.org/2000/svg}text"))
    return [text.text or "" for text in found], [float(text.attrib["y"]) for text in found]
