from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from lazyentity.bench.harness import sides
from lazyentity.bench.harness.lines import AdapterCost
from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.measure import bulk, page_results, snapshots
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import goals
from lazyentity.bench.subjects import adapter_costs
from lazyentity.patches.adapters.libraries import LIBRARIES

from .made import make_results

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "bench" / "results"

DECLARED = {
    "native": goals.GOALS,
    "pure": goals.GOALS,
    "ndb": goals.NDB_GOALS,
    "appengine-native": goals.APPENGINE_GOALS,
    "appengine-pure": goals.APPENGINE_GOALS,
    "packed-native": goals.PACKED_GOALS,
    "packed-pure": goals.PACKED_GOALS,
    "columns-native": goals.COLUMNS_GOALS,
    "columns-pure": goals.COLUMNS_GOALS,
    "adapters": goals.adapter_goals(adapter_costs.USES),
}
"""The goals of each file of committed results."""


def _of_bulk_calls(measured: PageResults) -> list[Outcome]:
    outcomes = bulk.goals(measured)
    lines = len(bulk.KEYS) * len(bulk.LATENCIES) * len(sides.CONTEXTS)
    with_latency = len(sides.CONTEXTS)
    gets = 2 * len(bulk.LATENCIES) * len(sides.CONTEXTS)
    assert len(outcomes) == lines + with_latency + gets
    return outcomes


def _of_snapshots(measured: PageResults) -> list[Outcome]:
    forms = measured.forms
    assert forms is not None
    assert (forms.entities, forms.properties) == (snapshots.ENTITIES, snapshots.PROPERTIES)
    return snapshots.goals(measured)


DECLARED_OF_PAGES = {"bulk": _of_bulk_calls, "snapshot": _of_snapshots}
"""The same of those that only the documentation shows."""

ELSEWHERE = {
    # It needs Beam, whose environment is its own.
    "beam-connector": "tests/patches/beam/test_benchmark.py",
    # The client need not be installed.
    "firestore-documents": "tests/patches/firestore/test_benchmark.py",
    "firestore-documents-pure": "tests/patches/firestore/test_benchmark.py",
    "firestore-writes": "tests/patches/firestore/test_benchmark.py",
    "firestore-writes-pure": "tests/patches/firestore/test_benchmark.py",
}
"""The files whose goals another module of tests checks."""

WITHOUT_GOALS = {
    "alternatives": "it compares ways of stock clients, and the lazy one has goals in native.json",
    "own": "the example of a command, whose entities are those of native.json and two more values",
    "calls": "its page shows the goal of each line beside the figure, met or not",
    "cache": "it compares with pickles, and the conversion that it times has goals in native.json",
}
"""The files without goals, and why."""


def test_committed_results_are_held_to_goals() -> None:
    """Each file is, in one place, or it says why not."""
    held = [*DECLARED, *DECLARED_OF_PAGES, *ELSEWHERE, *WITHOUT_GOALS]
    assert sorted(held) == sorted(path.stem for path in COMMITTED.glob("*.json"))
    for name, module in ELSEWHERE.items():
        assert f'"{name}.json"' in (ROOT / module).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*DECLARED, *DECLARED_OF_PAGES])
def test_committed_results_meet_the_goals(name: str) -> None:
    """Each goal was measured and is met; `make results` measures anew."""
    measured = page_results.load(COMMITTED / f"{name}.json")
    declared = DECLARED.get(name)
    outcomes = goals.evaluate(measured, declared) if declared else DECLARED_OF_PAGES[name](measured)
    assert outcomes
    assert [str(outcome) for outcome in outcomes if not outcome.met] == []


@pytest.mark.parametrize("backend", ["pure", "native"])
def test_quick_run_measures_every_goal(backend: str) -> None:
    """The quick run, which CI checks, has a figure for each goal of a backend, and of no other.

    A goal cannot be met by leaving its measurement out.
    """
    made = make_results(ratio=50, backend=backend)
    outcomes = goals.evaluate(made)
    own = [goal.figure for goal in goals.GOALS if goal.backend == backend]
    assert [outcome.figure for outcome in outcomes] == own
    assert all(outcome.median is not None for outcome in outcomes)
    # The figures of the native backend that no ratio is made of are not fast enough.
    assert backend == "native" or all(outcome.met for outcome in outcomes)
    sections = {
        section.name: [] if section.default is dataclasses.MISSING else section.default
        for section in dataclasses.fields(made)
        if section.name not in ("schema", "date", "mode", "environment", "source", "bias")
    }
    outcomes = goals.evaluate(dataclasses.replace(made, **sections))
    assert not any(outcome.met for outcome in outcomes)
    assert all("not measured" in str(outcome) for outcome in outcomes)


def test_too_slow_names_what_is_missed() -> None:
    """A run that is too slow names the goals that it missed, with figure and bound."""
    missed = [str(o) for o in goals.evaluate(make_results(ratio=5)) if not o.met]
    assert missed == [
        "mixed, 100 properties, 4 read: stock time / lazy time: 5.00, must be at least 8",
        "mixed, 500 properties, 4 read: stock time / lazy time: 5.00, must be at least 12",
        "query of 300 entities of 100 properties, 1 read: stock wall / lazy wall: 5.00, "
        "must be at least 6",
    ]


def test_superlinear_growth_is_missed() -> None:
    """A cost per unit that doubles and more from 1,000 to 10,000 is missed, for both units."""
    outcomes = goals.evaluate(make_results(ratio=100, backend="native", growth=2.5))
    missed = [str(outcome) for outcome in outcomes if not outcome.met]
    assert [text for text in missed if text.startswith("time per")] == [
        f"time per {unit}, mixed, 4 read: 10,000 {growing} / 1,000 {growing}: 2.50, "
        "must be at most 2"
        for unit, growing in (("property", "properties"), ("entity", "entities"))
    ]


def test_a_call_that_reads_something_else_does_not_meet_a_goal() -> None:
    """The goals of calls are for one property read, though more was measured of the same call."""
    made = make_results(ratio=100, backend="native")
    others = [dataclasses.replace(line, read="0") for line in made.end_to_end if not line.changed]
    outcomes = goals.evaluate(dataclasses.replace(made, end_to_end=others))
    missed = [str(outcome) for outcome in outcomes if outcome.median is None]
    assert len([text for text in missed if ", 1 read: " in text]) == 6
    both = dataclasses.replace(made, end_to_end=[*others, *made.end_to_end])
    assert goals.evaluate(both) == goals.evaluate(made)


@pytest.mark.parametrize(
    ("at_least", "median", "met"),
    [(True, 2.0, True), (True, 1.99, False), (False, 2.0, True), (False, 2.01, False)],
)
def test_a_bound_that_is_just_reached_is_met(at_least: bool, median: float, met: bool) -> None:
    """The bound itself is good enough, a little less is not."""
    assert Outcome("figure", median, 2.0, at_least).met is met


def test_each_library_has_a_line() -> None:
    measured = {library.partition(".")[0] for library, _ in adapter_costs.USES}
    for library in LIBRARIES:
        assert measured & {module.partition(".")[0] for module in library.modules} or (
            library.distribution in measured
        )


def test_each_line_has_goals() -> None:
    """The bound of a short call is of microseconds, and that of a longer one a ratio."""
    declared = goals.adapter_goals(adapter_costs.USES)
    assert len(declared) == 3 * len(adapter_costs.USES)
    lines = [
        AdapterCost(*use, *(Summary(ratio, ratio, ratio, 9) for ratio in (1, 0.1, 1, 1, 1)))
        for use in adapter_costs.USES
    ]
    measured = dataclasses.replace(make_results(backend="native"), adapter_costs=lines)
    assert all(outcome.met for outcome in goals.evaluate(measured, declared))
    slow = [
        dataclasses.replace(line, more=line.stock, none=Summary(1.04, 1, 2, 9)) for line in lines
    ]
    measured = dataclasses.replace(measured, adapter_costs=slow)
    missed = [outcome for outcome in goals.evaluate(measured, declared) if not outcome.met]
    assert len(missed) == len(lines)
