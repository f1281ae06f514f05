"""The end-to-end cases under pytest-benchmark: ``pytest bench/``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench import run
from lazyentity.bench.harness.timing import Comparison
from lazyentity.bench.subjects import end_to_end


@pytest.fixture(
    scope="module", params=run.QUICK.end_to_end_reads, ids=lambda read: "-".join(map(str, read))
)
def loaded(request: pytest.FixtureRequest) -> Iterator[Comparison]:
    with end_to_end.loaded(*request.param) as sides:
        yield sides


@pytest.fixture(scope="module")
def loaded_write() -> Iterator[Comparison]:
    with end_to_end.loaded(end_to_end.WRITE, run.ENTITIES, run.PROPERTIES) as sides:
        yield sides


@pytest.mark.benchmark(disable_gc=True, group="end to end")
@pytest.mark.parametrize("side", ["stock", "lazy", "floor"])
def test_read_through_the_client(
    benchmark: BenchmarkFixture, loaded: Comparison, side: str
) -> None:
    """The sides give the same values, and the floor carries the same answer."""
    benchmark(loaded.tasks[side])
    loaded.tasks["floor"]()
    loaded.check(loaded.tasks["stock"](), loaded.tasks["lazy"]())


@pytest.mark.benchmark(disable_gc=True, group="end to end: read, change, write")
@pytest.mark.parametrize("side", ["stock", "lazy"])
def test_write_through_the_client(
    benchmark: BenchmarkFixture, loaded_write: Comparison, side: str
) -> None:
    """The server holds what each side wrote."""
    with loaded_write.contexts[side]():
        benchmark(loaded_write.tasks[side])
    loaded_write.check(loaded_write.run("stock"), loaded_write.run("lazy"))
