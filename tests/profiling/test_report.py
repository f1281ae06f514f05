"""The report of a profile: as data, tables, a page, counters of OpenTelemetry, and options."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from typing import Any

import pytest
from opentelemetry import metrics as api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import lazyentity
from lazyentity.profiling import metrics
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.costs import Costs, measure
from lazyentity.profiling.counters import OTHER_NAMES
from lazyentity.profiling.counts import Counts, Line, Model
from lazyentity.profiling.findings import (
    advice_for_held,
    advice_for_reads,
    advice_for_whole,
    suggest,
    usually_read,
)
from lazyentity.profiling.observer import COLUMNS, NAMES, STORAGE, VALIDATION, WRITTEN
from lazyentity.profiling.page import html
from lazyentity.profiling.report import Report
from lazyentity.profiling.tables import duration, size, text
from tests.profiling.receiving import FIVE, Response
from tests.support.strategies.samples import serialise

ODD = '<script>alert("x")</script> [bold]'


@pytest.fixture(scope="module")
def profile() -> Any:
    """A profile with something in each part."""
    odd = serialise({ODD: 1, "other": 2, "unread": "x" * 3000})
    with lazyentity.profile() as made:
        entities = Response("pure", [odd] * 20).entities()
        for entity in entities:
            entity[ODD]
            entity["other"]
        [entity.items() for entity in Response("pure", [FIVE] * 3).entities()]
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
    assert text.isascii()  # beside the names, which are the program's


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
    report: Report = profile.report()
    many = dataclasses.replace(report, wholes=report.wholes * 20)
    assert "and 5 more, in JSON and HTML" in text(many)
    assert html(many).count("items()") >= 20


def test_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(api, "get_meter", provider.get_meter)
    metrics.register.cache_clear()
    with lazyentity.profile() as profile:
        before = _read(reader)
        for entity in Response("pure", [FIVE] * 4).entities():
            entity["a"]
        after = _read(reader)
    added = {name: number - before.get(name, 0) for name, number in after.items()}
    assert added == {
        "lazyentity.entities": 4,
        "lazyentity.entities.size": 4 * len(FIVE),
        "lazyentity.properties": 20,
        "lazyentity.properties.decoded": 4,
        "lazyentity.sentinels": 0,
    }
    assert profile.report().kinds[0].entities == 4
    provider.shutdown()
    metrics.register.cache_clear()


def _read(reader: InMemoryMetricReader) -> dict[str, int]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: sum(
            point.value  # type: ignore[union-attr, misc]  # counters have numbers
            for point in metric.data.data_points
            if point.attributes in ({"kind": "Kind"}, {})
        )
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_without_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", None)
    metrics.register.cache_clear()
    assert not metrics.register(dict)
    metrics.register.cache_clear()


SITE = CallSite("app.py", 7, "read", "")
ORDER = Model("Order", ("a", "b"), True)


def _counts(entities: int = 10, **read: int) -> Counts:
    had = Counter(dict.fromkeys((*read, "unread", "unread, too"), entities))
    return Counts(entities=entities, had=had, read=Counter(read))


def _of_queries(**changed: Any) -> Counts:
    return dataclasses.replace(_counts(), are_of_queries=True, **changed)


def _with_wholes(counts: Counts, number: int) -> Counts:
    return dataclasses.replace(counts, whole=Counter(dict.fromkeys(counts.had, number)))


@pytest.mark.parametrize(
    ("counts", "options", "reason"),
    [
        (_counts(a=10, b=10), "prefetch=['a', 'b'], strict=True", "No other"),
        (_counts(a=6, b=10), "prefetch=['b', 'a'], strict=True", "No other"),
        (_counts(a=10, b=1), "prefetch=['a']", "'b' was read"),
        (_counts(a=1, b=1), "", "for half of the entities"),
        (_with_wholes(_counts(a=1), 5), "", "for half of the entities"),
        (_counts(a=10, b=1, c=1), "prefetch=['a']", "'b', 'c' were read"),
        (_counts(a=10, b=1, c=1, d=1, e=1, f=1), "prefetch=['a']", "'b', 'c', 'd' and 2 more"),
        (_counts(), "", "not all entities came from queries"),
        (_of_queries(), "", "a keys-only query serves"),
        (_of_queries(uses=frozenset((NAMES, WRITTEN))), "", "but entities were written"),
        (_of_queries(alive=2), "", "2 entities are still in memory"),
        (_of_queries(eager=2), "", "2 other entities were stock ones"),
        (Counts(entities=3), "", "have no properties"),
        (Counts(entities=3, uses=frozenset((COLUMNS,))), "", "prefetch= would make them slower"),
        (
            Counts(entities=3, had=Counter(a=3), read=Counter(a=3)),
            "",
            "naming properties would save nothing",
        ),
        (_with_wholes(_counts(a=9), 1), "prefetch=['a']", "10% of the entities"),
        (_with_wholes(_counts(a=0), 10), "", "see the code that decodes everything"),
        (Counts(eager=3, eager_size=5), "", "stock ones"),
        (Counts(entities=1, has_no_options=True), "", "wrap() takes only"),
        (
            Counts(entities=1, has_no_options=True, obstacle="ndb makes them"),
            "",
            "Decoded as a whole: ndb makes them.",
        ),
    ],
)
def test_options(counts: Counts, options: str, reason: str) -> None:
    suggestion = suggest(counts)
    assert (suggestion.options, suggestion.strict) == (options, "strict=True" in options)
    assert reason in suggestion.reason


def test_names_that_were_counted_together_are_no_option() -> None:
    counts = _counts(a=10)
    counts.had[OTHER_NAMES] = counts.read[OTHER_NAMES] = 100
    assert usually_read(counts) == ("a",)


def test_code_that_took_undecoded_properties() -> None:
    """It may be what needs the entities."""
    assert "bypasses" in suggest(_of_queries(), is_leaked=True).reason
    assert not list(advice_for_reads(SITE, "Kind", _of_queries(), is_leaked=True))
    assert list(advice_for_reads(SITE, "Kind", _of_queries(), is_leaked=False))


@pytest.mark.parametrize(
    ("changed", "is_given"),
    [
        ({}, True),
        ({"alive": 0}, False),
        ({"uses": frozenset((WRITTEN,))}, False),
        ({"uses": frozenset((NAMES,))}, False),
        ({"had": Counter(a=10), "read": Counter(a=10)}, False),
        ({"had": Counter(a=10), "read": Counter()}, False),
        ({"read": Counter(a=5), "whole": Counter(a=5, b=5)}, False),
    ],
)
def test_entities_in_memory(changed: dict[str, Any], is_given: bool) -> None:
    """They are detached where nothing but some of their properties was read."""
    counts = dataclasses.replace(_counts(a=10), **{"alive": 10, **changed})
    assert bool(list(advice_for_held(SITE, "Kind", counts))) == is_given


def _line(*models: Model, names: str = "abcdefgh", calls: int = 1) -> Line:
    line = Line(calls=calls, properties=8)
    for number, model in enumerate(models):
        line.add_model(model, list(names), is_first=not number)
    return line


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (_line(ORDER), "Order.model_fields"),
        (_line(ORDER, names="acdefgh"), "[name for name in Order.model_fields if name in entity]"),
        (_line(ORDER._replace(are_fields=False)), "['a', 'b']"),
        (_line(ORDER, Model("Other", ("b", "c"), True)), "['a', 'b', 'c']"),
        (_line(ORDER, Model("Whole", None, False)), ""),
        (_line(ORDER, names="abc"), ""),
        (_line(ORDER._replace(names=tuple("abcdexyz"))), ""),
        (_line(ORDER, calls=2), ""),
        (_line(), ""),
    ],
)
def test_models(line: Line, names: str) -> None:
    """A model that takes few properties, and from every entity, gets a dict of these."""
    found = [each.call for each in advice_for_whole(SITE, VALIDATION, "Kind", line)]
    assert found == ([f"lazyentity.to_dict(entity, *{names})"] if names else [])
    assert not list(advice_for_whole(SITE, STORAGE, "Kind", line))
