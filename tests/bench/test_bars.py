from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import pytest

from lazyentity.bench.measure import bars

from .made import make_results

pytestmark = pytest.mark.any_backend

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_in_proportion() -> None:
    """Each call has a bar for each side, as long as its median, inside of the chart."""
    made = make_results()
    root = ElementTree.fromstring(bars.svg(made))  # noqa: S314  # ours
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


def test_no_calls() -> None:
    with pytest.raises(ValueError, match="no calls"):
        bars.svg(dataclasses.replace(make_results(), end_to_end=[]))
