"""Whole calls with the garbage collector on, on small input."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

import lazyentity
from lazyentity.bench.harness.timing import Comparison
from lazyentity.bench.harness.verify import OutputMismatch
from lazyentity.bench.measure import calls, page_results
from lazyentity.bench.measure.__main__ import main
from lazyentity.bench.subjects import end_to_end
from tests.support.benchmarks import ONCE
from tools import tables as generated

pytestmark = pytest.mark.any_backend


SMALL = (
    calls.Case("get", "", functools.partial(end_to_end.loaded, "get", 1, 4), 1),
    calls.Case("put", "", lambda: end_to_end.loaded_write(2, 4, reads=False), 1),
    calls.Case("asyncio", "", lambda: end_to_end.loaded_asyncio(2, 4, 3), 1),
    calls.Case("literals", "", lambda: calls.by_literals(5), 1),
    calls.Case("query", "", lambda: calls.over_stub(2, 4), 1, over="stub"),
    calls.Case("document", "", lambda: calls.over_json(2), 1, over="msgspec"),
)


@pytest.fixture(autouse=True)
def _frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep collections short: all tests here hold more objects than a program does."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.call)
def test_both_sides_are_timed(case: calls.Case) -> None:
    line = calls.measure(case, ONCE)
    assert line.at_least is (case.over == "stock")
    assert line.call == (case.call if line.at_least else f"{case.call}, over {case.over}")
    assert line.lazy.rounds == line.wall.rounds == 1
    assert line.wall.median > 0
    assert not lazyentity.patched()


def test_the_collector_is_on() -> None:
    """It is in every call of either side, and is as before afterwards."""
    seen: list[bool] = []

    @contextlib.contextmanager
    def load() -> Iterator[Comparison]:
        def task() -> None:
            seen.append(gc.isenabled())

        yield Comparison({"stock": task, "lazy": task}, lambda _stock, _lazy: None)

    before = gc.isenabled()
    # CPU time that nothing takes has no ratio.
    with contextlib.suppress(ZeroDivisionError):
        calls.measure(calls.Case("nothing", "", load, 1), ONCE)
    assert seen
    assert all(seen)
    assert gc.isenabled() is before


def test_sides_that_differ_are_found() -> None:
    with (
        calls.over_stub(2, 4) as call,
        pytest.raises(OutputMismatch, match="the client's entities"),
    ):
        call.check(call.run("stub"), call.run("lazy")[1:])
    with calls.over_json(2) as call, pytest.raises(OutputMismatch, match="JSON"):
        call.check([], call.run("lazy"))


def test_the_command_measures_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "CASES", SMALL)
    ran = CliRunner().invoke(main, ["calls", "--only", "literals", "--seconds", "0"])
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.count("literals") == ran.stderr.count("measured: ") == 1


def test_committed_results_have_every_line() -> None:
    """Each goal has a figure, and the page says which."""
    made = page_results.load(generated.RESULTS / "calls.json").calls
    assert [(line.size, line.goal, line.cpu_goal) for line in made] == [
        (case.size, case.goal, case.cpu_goal) for case in calls.CASES
    ]
