"""The decode cases under pytest-benchmark: ``pytest bench/``, all of them with ``--all-cases``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench import run
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import verify
from lazyentity.bench.subjects import conversion


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plan = run.FULL if metafunc.config.getoption("all_cases") else run.QUICK
    makers = decoding.select(tuple(synthetic.MIXES), plan.counts, plan.reads)
    metafunc.parametrize(
        "make_case", [pytest.param(make, id=name) for name, make in makers.items()]
    )


@pytest.mark.benchmark(disable_gc=True)
def test_decode_and_read(
    benchmark: BenchmarkFixture, make_case: Callable[[], decoding.Case], side: str
) -> None:
    """A side decodes, while it is timed, the values that stock decodes."""
    case = make_case()
    benchmark.group = f"{case.mix}, {case.properties} properties, {case.read} read"
    tasks = conversion.tasks(case)
    entities = benchmark(tasks[side])
    verify.check_read(case.reader, tasks["stock"](), entities)
