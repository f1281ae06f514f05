"""The time of a query of the user's own entities, its decoding left out.

A lazy query that reads nothing gives that time. A decode case measures the query's remaining work,
which :mod:`lazyentity.bench.report.own` subtracts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lazyentity.bench.harness.lines import OwnCall
from lazyentity.bench.harness.stats import summarize

CALLS = 5
_MILLISECONDS = 1e3


def measure(call: Callable[[], None], entities: int, rate: float) -> OwnCall:
    """Time the query; one more query comes first, which finds everything cold.

    Args:
        call: sends the query and reads its answer, decoding nothing.
        entities: how many a call reads.
        rate: how many calls a second the savings are given for.
    """
    times = []
    for _ in range(CALLS + 1):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * _MILLISECONDS)
    return OwnCall(entities=entities, rate=rate, undecoded=summarize(times[1:]))
