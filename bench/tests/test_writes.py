"""The write cases under pytest-benchmark: ``pytest bench/``, all of them with ``--all-cases``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench import run
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.subjects import writes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plan = run.FULL if metafunc.config.getoption("all_cases") else run.QUICK
    for name, makers in (
        ("make_rewrite", writes.select_rewrites(plan.rewrite_counts)),
        ("make_put", writes.select_puts(plan.put_counts)),
    ):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, makers.values(), ids=makers)


@pytest.mark.benchmark(disable_gc=True)
def test_read_modify_write(
    benchmark: BenchmarkFixture, make_rewrite: Callable[[], writes.Rewrite], side: str
) -> None:
    """A side writes, while it is timed, the messages that stock writes."""
    case = make_rewrite()
    benchmark.group = (
        f"read, modify, write: {case.source.properties} properties, {case.changed} changed"
    )
    tasks = writes.rewrite_tasks(case)
    with sides.CONTEXTS[side]():
        written = benchmark(tasks[side])
    verify.check_messages(tasks["stock"](), written)


@pytest.mark.benchmark(disable_gc=True)
def test_put(benchmark: BenchmarkFixture, make_put: Callable[[], writes.Fresh], side: str) -> None:
    """The messages that a side makes while it is timed are those that stock makes."""
    case = make_put()
    benchmark.group = f"put: {case.mix}, {case.properties} properties"
    tasks = writes.put_tasks(case)
    with sides.CONTEXTS[side]():
        messages = benchmark(tasks[side])
    verify.check_messages(writes.serialized(tasks["stock"]()), writes.serialized(messages))
