"""The benchmark of Beam's connector, on small input."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazyentity.bench.measure import beam, page_results

COMMITTED = Path(__file__).parents[3] / "bench" / "results" / "beam-connector.json"

pytestmark = pytest.mark.any_backend


def test_cpu_time() -> None:
    cost = beam.cpu_per_entity(3, 6)
    assert cost.entities == 3
    assert min(cost.stock, cost.lazy) >= 0


def test_the_pipeline_counts() -> None:
    with beam.serving(4, 6):
        for context in beam.CONTEXTS.values():
            with context():
                assert beam.count_chosen("active_003") == [2]


def test_the_committed_results_meet_the_goals() -> None:
    """`make results WHAT=beam` measures anew."""
    outcomes = beam.goals(page_results.load(COMMITTED))
    assert [str(outcome) for outcome in outcomes if not outcome.met] == []
    assert len(outcomes) == 2
