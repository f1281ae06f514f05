"""The cases of google-cloud-ndb under pytest-benchmark: ``pytest bench/``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench.subjects import models

_MAKERS = models.select(models.COUNTS, models.READS)


@pytest.mark.benchmark(disable_gc=True)
@pytest.mark.parametrize(
    "make_case", [pytest.param(make, id=name) for name, make in _MAKERS.items()]
)
def test_convert_and_read(
    benchmark: BenchmarkFixture, make_case: Callable[[], models.ModelCase], side: str
) -> None:
    """A side makes, while it is timed, the models that stock makes."""
    case = make_case()
    benchmark.group = (
        f"{case.kind_of_class}, {case.source.properties} properties, {case.source.read} read"
    )
    tasks = models.tasks(case)
    with models.CONTEXTS[side]():
        made = benchmark(tasks[side])
    models.check_models(tasks["stock"](), made)
