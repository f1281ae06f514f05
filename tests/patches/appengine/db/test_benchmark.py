"""The benchmark of models does the reads that it names."""

from __future__ import annotations

from typing import Any

import pytest

import lazyentity
from lazyentity.bench.subjects import appengine
from tests.patches.appengine.db.pairs import is_lazy
from tests.support.benchmarks import ONCE

CASES = {
    f"{case.call.name}-{case.read}": case
    for case in (make() for make in appengine.select(appengine.DB_CALLS))
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_measures(case: Any) -> None:
    line = appengine.measure(case, ONCE)
    assert (line.mix, line.properties, line.read) == (case.call.name, 100, case.read)
    assert not lazyentity.patched()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_reads_what_it_says(case: Any) -> None:
    with appengine.comparison(case) as compared, appengine.CONTEXTS["lazy"]():
        (first, *_) = compared.tasks["lazy"]()
        assert is_lazy(first)
        properties = first.properties().values()
        made = [prop for prop in properties if dict.__contains__(vars(first), f"_{prop.name}")]
        assert len(made) == {"0": 0, "4": 4, "all": 100}[case.read]
