"""The benchmark of Beam's connector, on small input."""

from __future__ import annotations

from pathlib import Path

import pytest

import lazyentity
from lazyentity.bench.harness import verify
from lazyentity.bench.measure import ablation, beam, page_results
from tests.support.benchmarks import ONCE

COMMITTED = Path(__file__).parents[3] / "bench" / "results" / "beam-connector.json"

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("case", [beam.READ, beam.CODER])
def test_each_case_is_timed(case: str) -> None:
    measured = beam.measure(case, 5, 6, ONCE)
    assert measured.case == case
    assert min(measured.stock.median, measured.lazy.median, measured.ratio.median) > 0
    assert not lazyentity.patched()


def test_each_seam_is_removed_in_turn() -> None:
    subject = ablation.SUBJECTS["beam"]()
    line = ablation.measure(subject, beam.CODED, 6, ONCE)
    assert line.gains.keys() == subject.without().keys()
    assert len(line.gains) == 3
    assert not lazyentity.patched()


def test_values_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[object]:
        return [object()]

    monkeypatch.setattr(beam, "_coding", lambda *_: broken)
    with pytest.raises(verify.OutputMismatch):
        beam.measure(beam.CODER, 2, 6, ONCE)


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
