"""Many threads at one moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads take turns as often as the interpreter can, so that they meet in the middle."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run ``work(0)`` to ``work(count - 1)`` in as many threads, all started at one moment."""
    barrier = threading.Barrier(count)

    def run(number: int) -> Any:
        # However long the others take to start.
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        try:
            results = pool.map(run, range(count))
        except BaseException:
            # Not all of them were started.
            barrier.abort()
            raise
        return list(results)
