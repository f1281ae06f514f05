"""Reads without and with a profile, under pytest-benchmark: ``pytest bench/``."""

from __future__ import annotations

import contextlib

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench.cases import decoding
from lazyentity.bench.harness import verify
from lazyentity.bench.measure import profiling


@pytest.mark.benchmark(disable_gc=True)
@pytest.mark.parametrize("mode", [profiling.OFF, profiling.ON])
@pytest.mark.parametrize("case", profiling.CASES, ids=lambda case: "-".join(map(str, case)))
def test_read(benchmark: BenchmarkFixture, case: tuple[str, int, str], mode: str) -> None:
    """The same values are read, whether a profile runs or not."""
    made = decoding.case(*case)
    benchmark.group = f"profile, {made.properties} properties, {made.read} read"
    tasks = profiling.tasks(made)
    with profiling.CONTEXTS.get(mode, contextlib.nullcontext)():
        entities = benchmark(tasks[mode])
    verify.check_read(made.reader, tasks[profiling.OFF](), entities)
