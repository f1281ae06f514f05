"""The conversions under pytest-benchmark: ``pytest bench/``, all of them with ``--all-cases``."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from lazyentity.bench import run
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness.timing import Comparison
from lazyentity.bench.subjects import conversion, writes
from lazyentity.patches.imports import WhenImported

Load = Callable[[], AbstractContextManager[Comparison]]


def _loading(
    group: str, makers: Mapping[str, Callable[[], Any]], compare: Callable[[Any], Comparison]
) -> dict[str, Load]:
    """Make each case of a group only when its benchmark begins."""

    def loading(make: Callable[[], Any]) -> Load:
        return lambda: contextlib.nullcontext(compare(make()))

    return {f"{group}-{name}": loading(make) for name, make in makers.items()}


def _is_installed(module: str) -> bool:
    return WhenImported(module, lambda: None).is_installed()


def _models() -> dict[str, Load]:
    if not _is_installed("google.cloud.ndb"):
        return {}
    from lazyentity.bench.subjects import models

    cases = itertools.product(models.CLASSES, models.COUNTS, models.READS)
    makers = {"-".join(map(str, case)): functools.partial(models.case, *case) for case in cases}
    return _loading("ndb", makers, models.comparison)


def _appengine() -> dict[str, Load]:
    if not _is_installed("google.appengine.api.datastore"):
        return {}
    from lazyentity.bench.subjects import appengine

    def loading(make: Callable[[], appengine.AppCase]) -> Load:
        return lambda: appengine.comparison(make())

    calls = appengine.CALLS | appengine.DB_CALLS
    names = [f"{call.name}-{read}" for call, reads in calls.items() for read in reads]
    return dict(zip(names, map(loading, appengine.select(calls)), strict=True))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    plan = run.FULL if metafunc.config.getoption("all_cases") else run.QUICK
    decoded = decoding.select(tuple(synthetic.MIXES), plan.counts, plan.reads)
    cases = {
        **_loading("decode", decoded, conversion.comparison),
        **_loading("rewrite", writes.select_rewrites(plan.rewrite_counts), writes.rewriting),
        **_loading("put", writes.select_puts(plan.put_counts), writes.putting),
        **_models(),
        **_appengine(),
    }
    metafunc.parametrize(("case", "load"), cases.items(), ids=cases)


@pytest.mark.benchmark(disable_gc=True)
def test_conversion(benchmark: BenchmarkFixture, case: str, load: Load, side: str) -> None:
    """A side makes, while it is timed, what stock makes."""
    benchmark.group = case
    with load() as compared:
        with compared.contexts.get(side, contextlib.nullcontext)():
            made = benchmark(compared.tasks[side])
        compared.check(compared.tasks["stock"](), made)
