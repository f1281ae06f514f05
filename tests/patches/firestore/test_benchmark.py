"""The benchmark of documents, on small input."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazyentity.bench.measure import firestore, page_results

COMMITTED = Path(__file__).parents[3] / "bench" / "results" / "firestore-documents.json"
COMMITTED_WRITES = COMMITTED.with_name("firestore-writes.json")
COMMITTED_PURE = COMMITTED.with_name("firestore-documents-pure.json")
COMMITTED_WRITES_PURE = COMMITTED.with_name("firestore-writes-pure.json")

pytestmark = pytest.mark.any_backend


def test_memory_is_measured() -> None:
    """A round of both sides, each in a process of its own."""
    measured = firestore.measure_memory("mixed", 6, 1)
    assert (measured.mix, measured.fields) == ("mixed", 6)
    # The bytes are kept, at least.
    assert measured.wire_bytes < measured.lazy.median
    assert measured.stock.median > 0
    assert measured.ratio.median > 0


@pytest.mark.parametrize(
    ("path", "backend", "cases", "count"),
    [
        (COMMITTED, "native", firestore.CASES, 19),
        (COMMITTED_PURE, "pure", firestore.CASES, len(firestore.CASES)),
        (COMMITTED_WRITES, "native", firestore.WRITES, 3),
        (COMMITTED_WRITES_PURE, "pure", firestore.WRITES, len(firestore.WRITES)),
    ],
    ids=lambda value: getattr(value, "stem", None),
)
def test_the_committed_results_meet_the_goals(
    path: Path, backend: str, cases: tuple[object, ...], count: int
) -> None:
    """`make results WHAT=many` measures anew."""
    made = page_results.load(path)
    measured = made.documents
    assert measured is not None
    assert made.environment.backend == backend
    outcomes = firestore.goals(made)
    assert [str(outcome) for outcome in outcomes if not outcome.met] == []
    assert [(one.call, one.mix, one.fields) for one in measured.cases] == list(cases)
    if cases == firestore.CASES:
        assert [(one.mix, one.fields) for one in measured.memory] == list(firestore.MEMORY)
    assert len(outcomes) == count
