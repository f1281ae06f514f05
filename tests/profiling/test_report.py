"""The report of a profile: as data, as tables and as a page."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from typing import Any

import pytest

import lazyentity
from lazyentity.profiling.costs import Costs, measure
from lazyentity.profiling.counts import Counts
from lazyentity.profiling.page import html
from lazyentity.profiling.report import Report
from lazyentity.profiling.tables import duration, size
from tests.profiling.receiving import BACKENDS, FIVE, Response
from tests.support.strategies.samples import serialise

ODD = '<script>alert("x")</script> [bold]'


@pytest.fixture(scope="module")
def profile() -> Any:
    """A profile with something in each part."""
    odd = serialise({ODD: 1, "other": 2, "unread": "x" * 3000})
    with lazyentity.profile() as made:
        entities = Response(BACKENDS[0], [odd] * 20).entities()
        for entity in entities:
            entity[ODD]
            entity["other"]
        [entity.items() for entity in Response(BACKENDS[0], [FIVE] * 3).entities()]
        with pytest.raises(TypeError):
            bool(dict.get(entities[0], "unread"))
    made.entities = entities  # type: ignore[attr-defined]  # to keep them in memory
    return made


def test_json(profile: Any) -> None:
    data = json.loads(profile.json())
    assert data == json.loads(json.dumps(profile.report().data()))
    (kind,) = data["kinds"]
    assert (kind["kind"], kind["entities"]) == ("Kind", 23)
    assert (kind["properties_received"], kind["properties_decoded"]) == (75, 55)
    assert {each["name"] for each in kind["properties"]} == {*"abcde", ODD, "other", "unread"}
    (whole,) = data["wholes"]
    assert (whole["operation"], whole["calls"], whole["properties"]) == ("items()", 3, 15)
    assert whole["site"]["file"] == __file__
    (reads,) = data["sites"]
    assert sorted(reads["one_by_one"]) == sorted((ODD, "other"))
    assert reads["reads"] == 40
    (held,) = data["held"]
    assert held["alive"] == 20
    assert 0 < held["unread_bytes"] < held["bytes"]
    assert [met["use"] for met in data["sentinels"]] == ["used"]
    materialize, wrap = data["advice"]
    assert materialize["call"] == "lazyentity.materialize(entity)"
    assert materialize["site"]["file"] == __file__
    assert wrap["call"].startswith("lazyentity.wrap(")
    assert all(advice["changes"] for advice in data["advice"])
    assert "estimate" in data["estimate"]["note"].lower()
    assert data["backend"] == lazyentity.backend


def test_tables(profile: Any) -> None:
    text = profile.table()
    for part in (
        "Received, by kind",
        "Decoded, by property",
        "Code that decodes everything",
        "one property after another",
        "Options of wrap()",
        "detach()",
        "materialize(entity)",
        "An estimate",
        "[bold]",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 110


def test_tables_without_their_library(profile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ImportError, match=r"install lazyentity\[profile\]"):
        profile.table()


def test_page(profile: Any) -> None:
    """The page is well formed, has charts and tables, and refers to nothing else."""
    page = profile.html()
    assert "<script" not in page
    assert not re.search(r"(src|href)=|url\(|https?://", page)
    body = page.partition("<body>")[2].partition("</body>")[0]
    root = ET.fromstring(f"<body>{body}</body>")  # noqa: S314  # made by the test itself
    charts, tables = list(root.iter("svg")), list(root.iter("table"))
    assert len(charts) == 4
    assert len(tables) == 8
    assert all(float(bar.get("width", "")) >= 0 for bar in root.iter("rect"))
    assert ODD in [each.text for each in root.iter("title")]


def test_nothing_received() -> None:
    with lazyentity.profile() as profile:
        pass
    assert "no entities were received" in profile.table()
    assert "<svg" not in profile.html()
    assert json.loads(profile.json())["kinds"] == []


def test_costs_are_measured_once() -> None:
    costs = measure()
    assert measure() is costs
    assert costs.seconds(Counts(entities=1000, had=Counter(a=50_000)))[0] > 0
    assert all(value >= 0 for value in vars(costs).values())


def test_the_estimate_is_the_difference_of_costs() -> None:
    costs = Costs(10.0, 2.0, 1.0, 0.1, 0.5)
    counts = Counts(100, had=Counter(a=1000), read=Counter(a=30), whole=Counter(a=10))
    assert costs.seconds(counts) == pytest.approx((0.003, 0.00022))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (size(1023), "1023 B"),
        (size(1536), "1.5 KiB"),
        (size(3 << 20), "3.0 MiB"),
        (size(5 << 30), "5.0 GiB"),
        (duration(0.0000489), "49 us"),
        (duration(0.0123), "12.3 ms"),
        (duration(12.34), "12.3 s"),
    ],
)
def test_units(shown: str, expected: str) -> None:
    assert shown == expected


def test_many_lines_are_cut_in_the_terminal(profile: Any) -> None:
    import dataclasses

    report: Report = profile.report()
    many = dataclasses.replace(report, wholes=report.wholes * 20)
    from lazyentity.profiling.tables import text

    assert "and 5 more, in JSON and HTML" in text(many)
    assert html(many).count("items()") >= 20
