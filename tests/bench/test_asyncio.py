"""The benchmark of the asyncio client, on small input."""

from __future__ import annotations

import pytest

import lazyentity
from lazyentity.bench.harness import verify
from lazyentity.bench.subjects import end_to_end_asyncio
from tests.support.budgets import ONCE


def test_end_to_end() -> None:
    line = end_to_end_asyncio.measure(entities=7, properties=12, budget=ONCE)
    assert (line.call, line.entities, line.properties) == (end_to_end_asyncio.CALL, 7, 12)
    assert min(line.stock.median, line.lazy.median) > 0
    assert line.floor is None
    assert not lazyentity.patched()


def test_values_that_differ_are_found() -> None:
    with end_to_end_asyncio.loaded(entities=3, properties=6) as call:
        stock, lazy = call.run("stock"), call.run("lazy")
        assert len(lazy) == 3
        call.check(stock, lazy)
        with pytest.raises(verify.OutputMismatch, match="entities"):
            call.check(stock[:2], lazy[:2])
        with pytest.raises(verify.OutputMismatch, match="text"):
            call.check(stock, [*lazy[:2], "another"])
