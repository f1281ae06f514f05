from __future__ import annotations

import contextlib
import functools
import gc
import time
import weakref
from collections.abc import Iterator

import pytest

from lazyentity.bench.harness.stats import Summary, paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import Budget, Timed, interleave

pytestmark = pytest.mark.any_backend

ROUNDS = 6
FEW = Budget(seconds=0, min_rounds=ROUNDS, max_rounds=ROUNDS, sample_seconds=0)


def test_order_alternates() -> None:
    """No task is always the first of its round; each is called once more than it is timed.

    Sample i of every task was taken in the same round.
    """
    calls: list[str] = []
    tasks = {name: functools.partial(calls.append, name) for name in ("stock", "lazy")}
    timed = interleave(tasks, FEW)
    rounds = calls[-4 * ROUNDS :]
    both = ["stock", "stock", "lazy", "lazy"]
    assert rounds == (both + both[::-1]) * (ROUNDS // 2)
    assert {name: len(track.seconds) for name, track in timed.items()} == {
        "stock": ROUNDS,
        "lazy": ROUNDS,
    }


def test_rounds_stop_at_the_maximum() -> None:
    """Time left over adds no rounds beyond it; the result of the last call can be verified."""
    results = iter(range(1000))
    budget = Budget(seconds=60, min_rounds=1, max_rounds=3, sample_seconds=0)
    track = interleave({"count": lambda: next(results)}, budget)["count"]
    assert len(track.seconds) == 3
    assert next(results) == track.last + 1


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

    track = Timed(task)
    track.sample(3)
    # While a call runs, only the result that it is about to replace is alive.
    assert alive == [0, 1, 1, 1]


@pytest.mark.parametrize("before", [1, 3])
def test_first_calls_of_a_sample_are_not_timed(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task before a sample does not count."""
    now = 0

    def task() -> None:
        nonlocal now
        now += next(durations)

    durations = iter([*[100] * before, 1, 3])
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    assert Timed(task, before=before).sample(2) == 2


def test_context_is_entered_while_no_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task runs inside of its context, whose time does not count; other tasks do not."""
    now = 0
    inside = False

    def perf_counter() -> int:
        return now

    @contextlib.contextmanager
    def context() -> Iterator[None]:
        nonlocal now, inside
        now, inside = now + 100, True
        yield
        now, inside = now + 100, False

    def task() -> bool:
        nonlocal now
        now += 1
        return inside

    monkeypatch.setattr(time, "perf_counter", perf_counter)
    timed = interleave({"stock": task, "lazy": task}, FEW, {"lazy": context})
    assert {name: track.last for name, track in timed.items()} == {"stock": False, "lazy": True}
    assert timed["lazy"].seconds == timed["stock"].seconds == [1] * ROUNDS


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("frozen", [True, False])
def test_collector_is_off_while_timing_and_put_back(enabled: bool, frozen: bool) -> None:
    """Automatic collection is off inside tasks, and the collector afterwards as it was before."""
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    (gc.freeze if frozen else gc.unfreeze)()
    try:
        timed = interleave({"ask": gc.isenabled}, FEW)
        assert timed["ask"].last is False
        assert gc.isenabled() is enabled
        assert (gc.get_freeze_count() > 0) is frozen
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_summaries() -> None:
    """They hold the median and the quartiles of samples in any order; one sample has no spread."""
    assert summarize([5, 1, 4, 2, 3]) == Summary(median=3, q1=2, q3=4, rounds=5)
    assert summarize([7.5]) == Summary(median=7.5, q1=7.5, q3=7.5, rounds=1)
    with pytest.raises(ValueError, match="no samples"):
        summarize([])
    assert scaled([0.5, 2.0], 1e3) == [500.0, 2000.0]


def test_ratio_is_taken_pair_by_pair() -> None:
    """A machine that slows down for some rounds leaves the ratio alone; pairs must be pairs."""
    lazy = [1.0, 1.0, 10.0, 10.0, 1.0]
    stock = [4 * seconds for seconds in lazy]
    assert paired_ratio(stock, lazy) == Summary(median=4, q1=4, q3=4, rounds=5)
    with pytest.raises(ValueError, match="zip"):
        paired_ratio([1.0, 2.0], [1.0])
