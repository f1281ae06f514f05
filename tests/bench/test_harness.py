"""The two sides are timed in turns, and their results compared."""

from __future__ import annotations

import contextlib
import datetime
import functools
import gc
import math
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from google.cloud.datastore import Entity, Key, helpers
from proto.datetime_helpers import DatetimeWithNanoseconds

import lazyentity
from lazyentity.bench import cli, results, sides, verify
from lazyentity.bench.harness import (
    HELD,
    PER_CALL,
    QUICK,
    Budget,
    Case,
    Comparison,
    interleave,
    measure,
    paired_ratio,
)
from lazyentity.bench.results import ResultsError, Summary, summarize

from .made import make_case, make_results

ROUNDS = 6
FEW = Budget(seconds=0, min_rounds=ROUNDS, max_rounds=ROUNDS, sample_seconds=0)


def _unchecked(stock: Any, lazy: Any) -> None:
    """Both are right."""


def test_order_alternates() -> None:
    """No side is always the first of its round; each is called once more than it is timed."""
    calls: list[str] = []
    noting_stock, noting_lazy = (
        functools.partial(calls.append, name) for name in ("stock", "lazy")
    )
    stock, lazy = interleave(Comparison(noting_stock, noting_lazy, _unchecked), FEW)
    both = ["stock", "stock", "lazy", "lazy"]
    assert calls[-4 * ROUNDS :] == (both + both[::-1]) * (ROUNDS // 2)
    for side in (stock, lazy):
        assert len(side.wall) == len(side.cpu) == ROUNDS


def test_last_results_are_compared() -> None:
    """Those of the timed calls; a difference ends the measurement."""

    def check(stock: int, lazy: int) -> None:
        verify.check_same(stock, lazy, "value")

    with pytest.raises(verify.OutputMismatch, match="2 in place of 1"):
        interleave(Comparison(lambda: 1, lambda: 2, check), FEW)


def test_previous_result_is_released_while_the_clock_runs() -> None:
    """Releasing the result of a call is part of the time of the next."""

    class Result:
        pass

    alive: list[int] = []
    made: list[weakref.ref[Result]] = []

    def task() -> Result:
        alive.append(sum(reference() is not None for reference in made))
        result = Result()
        made.append(weakref.ref(result))
        return result

    interleave(Comparison(task, lambda: None, _unchecked), FEW)
    # The first call of a sample has nothing before it; its result is alive in the next.
    assert set(alive) == {0, 1}


def test_collector_is_off_while_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back = []
    monkeypatch.setattr(gc, "unfreeze", lambda: given_back.append(True))
    stock, _ = interleave(Comparison(gc.isenabled, gc.isenabled, _unchecked), FEW)
    assert stock.last is False
    assert gc.isenabled()
    assert given_back == [True]


def test_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion is in microseconds of CPU time per entity, a call in milliseconds of wall."""
    wall = cpu = 0.0

    def task() -> None:
        nonlocal wall, cpu
        wall, cpu = wall + 0.003, cpu + 0.002

    monkeypatch.setattr(time, "perf_counter", lambda: wall)
    monkeypatch.setattr(time, "process_time", lambda: cpu)
    compared = Comparison(task, task, _unchecked)
    case = make_case()
    for unit, expected in ((case.unit, 100), (PER_CALL, 3)):
        given = vars(case) | {"unit": unit, "make": lambda: contextlib.nullcontext(compared)}
        line = measure(Case(**given), FEW)
        assert line.stock.median == pytest.approx(expected)
        assert line.ratio.median == pytest.approx(1)


def test_memory() -> None:
    """What a side returns is held while its memory is measured."""
    compared = Comparison(lambda: bytes(400_000), lambda: bytes(200_000), _unchecked)
    given = vars(make_case()) | {"unit": HELD, "make": lambda: contextlib.nullcontext(compared)}
    line = measure(Case(**given), FEW)
    assert line.stock.median == pytest.approx(400_000 / line.entities, rel=0.1)
    assert line.ratio.median == pytest.approx(2, rel=0.1)
    assert line.cpu_ratio is None


def test_summaries() -> None:
    """They hold the median and the quartiles of samples in any order; one sample has no spread."""
    assert summarize([5, 1, 4, 2, 3]) == Summary(median=3, q1=2, q3=4, rounds=5)
    assert summarize([7.5], 2) == Summary(median=15, q1=15, q3=15, rounds=1)
    with pytest.raises(ValueError, match="no samples"):
        summarize([])


def test_ratio_is_taken_pair_by_pair() -> None:
    """A machine that slows down for some rounds leaves the ratio alone; pairs must be pairs."""
    lazy = [1.0, 1.0, 10.0, 10.0, 1.0]
    stock = [4 * seconds for seconds in lazy]
    assert paired_ratio(stock, lazy) == Summary(median=4, q1=4, q3=4, rounds=5)
    with pytest.raises(ValueError, match="zip"):
        paired_ratio([1.0, 2.0], [1.0])


def entity(**properties: Any) -> Entity:
    made = Entity(key=Key("Kind", 1, project="p"))
    made.update(properties)
    return made


def nanoseconds(value: int) -> DatetimeWithNanoseconds:
    return DatetimeWithNanoseconds(2020, 1, 1, nanosecond=value, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("stock", "lazy"),
    [
        pytest.param(1, True, id="bool for int"),
        pytest.param(1.0, 1, id="int for float"),
        pytest.param(0.0, -0.0, id="sign of zero"),
        pytest.param(nanoseconds(1), nanoseconds(2), id="nanoseconds"),
        pytest.param([1, 2], [1], id="shorter array"),
        pytest.param([1, [2]], [1, [3]], id="inside an array"),
        pytest.param(entity(a=1), {"a": 1}, id="dict for entity"),
        pytest.param(entity(a=1), entity(), id="property missing"),
        pytest.param(entity(a=entity(b=1)), entity(a=entity(b=2)), id="embedded entity"),
        pytest.param(Entity(key=Key("K", 1, project="p")), Entity(), id="key"),
        pytest.param(Entity(exclude_from_indexes=("a",)), Entity(), id="exclude_from_indexes"),
    ],
)
def test_differences_are_found(stock: Any, lazy: Any) -> None:
    """A difference from stock's output, in value or in type, fails the measurement."""
    with pytest.raises(verify.OutputMismatch):
        verify.check_same(stock, lazy, "value")


@pytest.mark.parametrize(
    "value", [math.nan, None, [[]], entity(a=[entity(b=math.nan)]), nanoseconds(7)], ids=repr
)
def test_same_is_same(value: Any) -> None:
    """Output that equals stock's passes, NaN included."""
    verify.check_same(value, value, "value")


def serialized(**properties: Any) -> bytes:
    return sides.to_bytes(entity(**properties))


def test_messages_are_compared_by_what_they_parse_to() -> None:
    """Properties in another order, and one that is there twice, are no difference."""
    stock = serialized(a=1, b=math.nan, c=entity(d=[None], e=2))
    other = serialized(c=entity(e=2, d=[None]), b=math.nan, a=1)
    keyless = Entity()
    keyless.update(a=0)
    for lazy in (stock, other, sides.to_bytes(keyless) + stock):
        verify.check_messages([stock], [lazy])


@pytest.mark.parametrize(
    "lazy",
    [
        pytest.param([], id="missing"),
        pytest.param([serialized(a=1, b=True)], id="type"),
        pytest.param([serialized(a=1)], id="property missing"),
        pytest.param([serialized(a=1, b=2) + b"\x98\x06\x01"], id="unknown field"),
        pytest.param([serialized(a=1, b=2)[:-1]], id="truncated"),
    ],
)
def test_messages_that_differ_are_found(lazy: list[bytes]) -> None:
    """A difference from the message that stock makes fails the measurement."""
    with pytest.raises(verify.OutputMismatch):
        verify.check_messages([serialized(a=1, b=2)], lazy)


def test_a_patched_process_is_refused() -> None:
    """With lazyentity active there is no stock side to compare with."""
    lazyentity.patch()
    try:
        with pytest.raises(sides.PatchedProcess, match="datastore"):
            cli.measure([make_case()], QUICK)
    finally:
        lazyentity.unpatch()


def test_the_patch_of_a_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not depend on the environment, and ends with an error.

    A lazy side that LAZYENTITY_DISABLE made a stock one would be timed against itself.
    """
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    original = helpers.entity_from_protobuf
    with contextlib.suppress(RuntimeError), sides.patched():
        assert lazyentity.patched() == ("datastore",)
        assert helpers.entity_from_protobuf is not original
        raise RuntimeError
    assert helpers.entity_from_protobuf is original
    assert not lazyentity.patched()


def test_results_come_back(tmp_path: Path) -> None:
    """A file has one line for each figure, so that a change of it can be read."""
    path, made = tmp_path / "results.json", make_results()
    results.write(path, made)
    assert results.load(path) == made
    assert len(path.read_text("utf-8").splitlines()) > 10 * len(made.lines)


def test_files_that_are_no_results(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with pytest.raises(ResultsError, match="cannot read"):
        results.load(path)
    path.write_text("{}")
    with pytest.raises(ResultsError, match="is no results file of schema 3"):
        results.load(path)
