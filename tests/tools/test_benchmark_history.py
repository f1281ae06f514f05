"""A regression of the microbenchmark is told from noise."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lazyentity.bench.harness import results
from tests.bench.made import make_results
from tools import benchmark_history

pytestmark = pytest.mark.any_backend

# The quartiles of a made figure are 0.9 and 1.2 times its median.
SLOWER, WITHIN_NOISE = 7.0, 8.0


def test_a_figure_regresses_below_the_noise_of_earlier_runs() -> None:
    earlier = [make_results(ratio) for ratio in (10, 11, 12)]
    worse = benchmark_history.regressions(make_results(SLOWER), earlier)
    assert len(worse) == len(benchmark_history.figures(earlier[0])) > 20
    assert "8.40 times as fast as stock; it was 9.00 at least in the last 3 runs" in worse[0]
    for ratio in (WITHIN_NOISE, 10, 99):
        assert benchmark_history.regressions(make_results(ratio), earlier) == []


def test_too_few_runs_tell_nothing() -> None:
    assert benchmark_history.regressions(make_results(1), [make_results(10)] * 2) == []


def test_runs_under_other_conditions_do_not_count() -> None:
    other = make_results(10)
    other = replace(other, environment=replace(other.environment, cpu="another"))
    assert benchmark_history.regressions(make_results(1), [other] * 9) == []


def test_only_the_last_runs_count() -> None:
    """A history that became faster long ago does not excuse a regression."""
    earlier = [make_results(ratio) for ratio in (*[5] * 9, *[10] * benchmark_history.MOST)]
    assert benchmark_history.regressions(make_results(SLOWER), earlier)


def _add(history: Path, run: results.Results, *options: str) -> None:
    """Run the command with a results file."""
    path = history.parent / "run.json"
    path.write_text(results.dump(run))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["benchmark_history", str(history), str(path), *options])
        benchmark_history.main()


def test_the_command_keeps_runs(tmp_path: Path) -> None:
    """A run that regressed is kept apart, unless it is accepted."""
    history = tmp_path / "history"
    for day in (1, 2, 3):
        _add(history, replace(make_results(10), date=f"2026-01-0{day}T02:00:00+00:00"))
    bad = replace(make_results(SLOWER), date="2026-01-04T02:00:00+00:00")
    for _ in range(2):
        with pytest.raises(SystemExit, match="figures regressed:"):
            _add(history, bad)
    assert len(list(history.glob("*.json"))) == 3
    (kept,) = (history / "regressed").glob("*.json")
    assert results.load(kept) == bad
    _add(history, bad, "--accept")
    assert len(list(history.glob("*.json"))) == 4


def test_a_file_that_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "2026.json").write_text("{}")
    with pytest.raises(SystemExit, match="no results file of schema"):
        _add(tmp_path, make_results())
