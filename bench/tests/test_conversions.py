"""The conversions of the installed clients under pytest-benchmark: ``pytest bench``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench import clients, sides
from lazyentity.bench.harness import PER_ENTITY, QUICK, Case


def _cases() -> Iterator[Case]:
    for name in clients.NAMES:
        try:
            yield from (case for case in clients.cases(name, QUICK) if case.unit == PER_ENTITY)
        except ImportError:
            continue


@pytest.mark.benchmark(disable_gc=True)
@pytest.mark.parametrize("side", ["stock", "lazy"])
@pytest.mark.parametrize("case", list(_cases()), ids=str)
def test_conversion(benchmark: BenchmarkFixture, case: Case, side: str) -> None:
    """A side makes, while it is timed, what stock makes."""
    sides.require_unpatched()
    benchmark.group = str(case)
    with case.make() as compared:
        if side == "stock":
            made = benchmark(compared.stock)
            compared.check(made, made)
        else:
            with compared.patched():
                made = benchmark(compared.lazy)
            compared.check(compared.stock(), made)
