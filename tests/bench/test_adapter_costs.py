"""The benchmark of calls without entities has a line, and goals, for each adapted library."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from lazyentity.bench.harness import results
from lazyentity.bench.harness.lines import AdapterCost
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report import adapter_goals, goals
from lazyentity.patches.adapters.libraries import LIBRARIES
from tests.bench.made import make_results
from tests.support.benchmarks import ONCE

adapter_costs = pytest.importorskip("lazyentity.bench.subjects.adapter_costs")

COMMITTED = Path(__file__).parents[2] / "bench" / "results" / "adapters.json"


def test_each_library_has_a_line() -> None:
    measured = {library.partition(".")[0] for library, _ in adapter_costs.USES}
    for library in LIBRARIES:
        assert measured & {module.partition(".")[0] for module in library.modules} or (
            library.distribution in measured
        )


def test_each_line_has_goals() -> None:
    """The bound of a short call is of microseconds, and that of a longer one a ratio."""
    declared = adapter_goals.adapter_goals(adapter_costs.USES)
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


def test_committed_results() -> None:
    """Each call meets its goal."""
    measured = results.load(COMMITTED)
    declared = adapter_goals.adapter_goals(adapter_costs.USES)
    assert [str(each) for each in goals.evaluate(measured, declared) if not each.met] == []


@pytest.mark.parametrize(
    "use", [("pydantic", "model_dump"), ("xml.etree", "TreeBuilder.start"), adapter_costs.UVICORN]
)
def test_measures(use: tuple[str, str]) -> None:
    if use not in adapter_costs.installed_uses():
        pytest.skip("the library is not installed")
    line = adapter_costs.measure(*use, ONCE)
    assert (line.library, line.use) == use
    assert min(line.stock.median, line.none.median, line.one.median, line.many.median) > 0
