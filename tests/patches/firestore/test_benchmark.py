"""The benchmark of documents, on small input."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazyentity.bench.measure import firestore, page_results

RESULTS = Path(__file__).parents[3] / "bench" / "results"

pytestmark = pytest.mark.any_backend


def test_memory_is_measured() -> None:
    """A round of both sides, each in a separate process."""
    measured = firestore.measure_memory("mixed", 6, 1)
    assert (measured.mix, measured.fields) == ("mixed", 6)
    # The bytes are kept, at least.
    assert measured.wire_bytes < measured.lazy.median
    assert measured.stock.median > 0
    assert measured.ratio.median > 0


@pytest.mark.parametrize(
    ("name", "backend", "cases", "count"),
    [
        ("firestore-documents.json", "native", firestore.CASES, 19),
        ("firestore-documents-pure.json", "pure", firestore.CASES, len(firestore.CASES)),
        ("firestore-writes.json", "native", firestore.WRITES, 3),
        ("firestore-writes-pure.json", "pure", firestore.WRITES, len(firestore.WRITES)),
    ],
)
def test_the_committed_results_meet_the_goals(
    name: str, backend: str, cases: tuple[object, ...], count: int
) -> None:
    """`make results WHAT=many` measures anew."""
    made = page_results.load(RESULTS / name)
    measured = made.documents
    assert measured is not None
    assert made.environment.backend == backend
    outcomes = firestore.goals(made)
    assert [str(outcome) for outcome in outcomes if not outcome.met] == []
    assert [(one.call, one.mix, one.fields) for one in measured.cases] == list(cases)
    if cases == firestore.CASES:
        assert [(one.mix, one.fields) for one in measured.memory] == list(firestore.MEMORY)
    assert len(outcomes) == count
