"""The budget of measurements in tests, whose figures do not matter."""

from __future__ import annotations

from lazyentity.bench.harness.timing import Budget

ONCE = Budget(seconds=0, min_rounds=1, max_rounds=1, sample_seconds=0)
