"""The benchmark of documents, on small input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lazyentity
from lazyentity.bench.harness import verify
from lazyentity.bench.measure import documents, firestore, page_results
from tests.support.benchmarks import ONCE

COMMITTED = Path(__file__).parents[3] / "bench" / "results" / "firestore-documents.json"
COMMITTED_WRITES = COMMITTED.with_name("firestore-writes.json")
COMMITTED_PURE = COMMITTED.with_name("firestore-documents-pure.json")
COMMITTED_WRITES_PURE = COMMITTED.with_name("firestore-writes-pure.json")

pytestmark = pytest.mark.any_backend

CALLS = dict.fromkeys(call for call, _, _ in (*firestore.CASES, *firestore.WRITES))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with documents.running() as port:
        yield port


@pytest.mark.parametrize("call", CALLS)
def test_each_call_is_timed(call: str, port: int) -> None:
    measured = firestore.measure(call, "mixed", 6, port, ONCE)
    assert (measured.call, measured.mix, measured.fields) == (call, "mixed", 6)
    assert min(measured.stock.median, measured.lazy.median, measured.ratio.median) > 0
    has_no_floor = call in (firestore.CONVERSION, firestore.PREPARATION)
    assert (measured.floor is None) == has_no_floor
    assert not lazyentity.patched()


def test_values_that_differ_are_found(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(firestore._READS, firestore.STREAM, lambda _: object())
    with pytest.raises(verify.OutputMismatch):
        firestore.measure(firestore.STREAM, "mixed", 5, port, ONCE)


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
