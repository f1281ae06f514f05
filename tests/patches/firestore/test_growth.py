"""No shape of a document makes a read slower than the stock client's."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazyentity.bench import results
from lazyentity.bench.clients import firestore_growth as growth
from lazyentity.bench.harness import QUICK, Case, measure
from tests.support.benchmarks import ONCE

RESULTS = Path(__file__).parents[3] / "bench" / "results" / "firestore-growth.json"
CASES = list(growth.cases(QUICK))


def test_the_committed_results_are_faster_than_stock() -> None:
    """``python -m lazyentity bench firestore-growth --output FILE`` measures anew."""
    lines = results.load(RESULTS).lines
    assert [line for line in lines if line.ratio.median < 1] == []
    assert [(line.case, line.done) for line in lines] == [(case.name, case.done) for case in CASES]


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("case", [case for case in CASES if case.properties < 200], ids=str)
def test_both_sides_read_the_same(case: Case) -> None:
    measure(case, ONCE)
