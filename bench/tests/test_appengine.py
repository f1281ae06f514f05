"""The cases of App Engine's client under pytest-benchmark: ``pytest bench/``."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench.subjects import appengine, appengine_db

_CALLS = (*appengine.CALLS, *appengine_db.CALLS)
_CASES = [make() for make in appengine.select(dict.fromkeys(_CALLS, appengine.READS))]


@pytest.mark.benchmark(disable_gc=True)
@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case.call.name}-{case.read}")
def test_read(benchmark: BenchmarkFixture, case: appengine.AppCase, side: str) -> None:
    """A side reads, while it is timed, what stock reads."""
    benchmark.group = f"{case.call.name}, {case.properties} properties, {case.read} read"
    with appengine.tasks(case) as tasks:
        with appengine.CONTEXTS[side]():
            made = benchmark(tasks[side])
        appengine.check(case, tasks["stock"](), made)
