from __future__ import annotations

import pytest

from lazyentity.bench.cases import decoding
from lazyentity.bench.harness.timing import Budget
from lazyentity.bench.measure import profiling
from lazyentity.profiling import observer

pytestmark = pytest.mark.any_backend

TWICE = Budget(seconds=0, min_rounds=2, max_rounds=2, sample_seconds=0)


@pytest.mark.parametrize("read", ["4", "items"])
def test_the_cost_of_a_profile(read: str) -> None:
    """Both modes are timed, and no profile is left running."""
    cost = profiling.measure(decoding.case("mixed", 20, read), TWICE)
    assert (cost.properties, cost.read) == (20, read)
    assert min(cost.off.median, cost.on.median, cost.ratio.median) > 0
    assert observer.data is None
