"""The end-to-end cases under pytest-benchmark: ``pytest bench/``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench import end_to_end, run


@pytest.fixture(scope="module", params=list(end_to_end.CALLS))
def loaded(request: pytest.FixtureRequest) -> Iterator[end_to_end.Loaded]:
    with end_to_end.loaded(request.param, run.ENTITIES, run.PROPERTIES) as sides:
        yield sides


@pytest.mark.benchmark(disable_gc=True, group="end to end")
@pytest.mark.parametrize("side", ["stock", "lazy", "floor"])
def test_read_through_the_client(
    benchmark: BenchmarkFixture, loaded: end_to_end.Loaded, side: str
) -> None:
    """The sides give the same values, and the floor carries the same answer."""
    benchmark(loaded.tasks[side])
    loaded.tasks["floor"]()
    loaded.check(loaded.tasks["stock"](), loaded.tasks["lazy"]())
