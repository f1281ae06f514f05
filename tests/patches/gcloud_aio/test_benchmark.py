"""The benchmark of gcloud-aio-datastore, on small input."""

from __future__ import annotations

from typing import Any

import pytest

import lazyentity
from lazyentity.bench.harness import verify
from lazyentity.bench.harness.timing import Budget
from lazyentity.bench.measure import ablation, rest

pytestmark = pytest.mark.any_backend

ONCE = Budget(seconds=0, min_rounds=1, max_rounds=1, sample_seconds=0)


@pytest.mark.parametrize("case", rest.CASES)
def test_each_case_is_timed(case: str) -> None:
    line = rest.measure(case, 5, 6, ONCE)
    assert (line.call, line.read) == (case, rest.CASES[case])
    assert min(line.stock.median, line.lazy.median, line.ratio.median) > 0
    assert not lazyentity.patched()


def test_values_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_results(data: dict[str, Any]) -> dict[str, Any]:
        return {"batch": {**data["batch"], "entityResults": []}}

    monkeypatch.setattr(rest, "mark_response", without_results)
    with pytest.raises(verify.OutputMismatch):
        rest.measure(rest.CONVERSION, 2, 6, ONCE)


def test_each_seam_is_removed_in_turn() -> None:
    subject = ablation.SUBJECTS["gcloud-aio"]()
    line = ablation.measure(subject, rest.QUERY, 6, ONCE)
    assert line.gains.keys() == {"datastore.Datastore._post", "entity.Entity.__init__"}
    assert not lazyentity.patched()
