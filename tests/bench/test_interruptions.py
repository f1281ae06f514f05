"""Ctrl-C, and what is missing on the machine: a sentence, an exit status, and nothing is lost."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lazyentity.bench import cli, demo, run
from lazyentity.bench.harness import results, sides
from tests.support.benchmarks import bench

from .made import make_results

pytestmark = pytest.mark.any_backend


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the user interrupt the run after some parts of it."""

    def after(count: int) -> None:
        def measure(steps: Sequence[run.Step], on_step: Any) -> Iterator[run.Part]:
            yield from make_results().conversion[:count]
            raise KeyboardInterrupt

        monkeypatch.setattr(run, "run", measure)

    return after


def test_what_was_measured_is_kept(interrupted: Callable[[int], None], tmp_path: Path) -> None:
    """It is recorded and shown; the goals are not judged, and no chart is drawn."""
    interrupted(3)
    output, chart = tmp_path / "results.json", tmp_path / "chart.svg"
    outcome = bench("--quick", "--check", "--output", output, "--plot", chart)
    assert outcome.exit_code == 130
    assert "Interrupted: the measurements that were not made are missing." in outcome.output
    assert outcome.output.splitlines()[-1].startswith("Error: interrupted after 3 of ")
    recorded = results.load(output)
    assert recorded.interrupted
    assert recorded.conversion == make_results().conversion[:3]
    assert not chart.exists()


def test_nothing_was_measured(interrupted: Callable[[int], None], tmp_path: Path) -> None:
    """Results of before stay."""
    interrupted(0)
    output, chart = tmp_path / "results.json", tmp_path / "chart.svg"
    chart.write_text("before")
    outcome = bench("--output", output, "--plot", chart)
    assert (outcome.exit_code, outcome.output) == (
        130,
        "Error: interrupted before anything was measured\n",
    )
    assert not output.exists()
    assert chart.read_text() == "before"


def test_the_adapters_are_an_extra_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without it the rest is measured, and a line says so."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "fastapi" else find_spec(name)
    )
    sections = {section for section, _ in run.steps(run.QUICK, ["mixed"], (5,))}
    assert "access" in sections
    assert "adapters" not in sections
    monkeypatch.setattr(run, "run", lambda *_: iter(()))
    monkeypatch.setattr(results.Results, "of", lambda *_: make_results())
    outcome = bench("--output", tmp_path / "results.json")
    assert outcome.exit_code == 0
    assert "fastapi is not installed: pip install 'lazyentity[bench-all]'" in outcome.output


@pytest.mark.parametrize("extra", ["ndb", "appengine"])
def test_a_client_that_is_not_installed(
    extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(plan: run.Plan) -> list[run.Step]:
        raise ImportError("No module named 'google.cloud.ndb'")

    monkeypatch.setitem(cli._SUBJECTS, f"--{extra}", (extra, missing, []))
    outcome = bench(f"--{extra}", "--output", tmp_path / "results.json")
    assert outcome.exit_code == 2
    assert outcome.output == (
        "Error: its subject cannot be imported (No module named 'google.cloud.ndb'); install it "
        f"with `pip install 'lazyentity[{extra}]'`\n"
    )


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (RuntimeError("the server did not start"), 1, "the server did not start"),
        (
            subprocess.CalledProcessError(3, "python"),
            1,
            "a process of the demonstration ended with status 3; its error is above",
        ),
        (sides.PatchedProcess("lazyentity is active"), 1, "lazyentity is active"),
        (KeyboardInterrupt(), 130, "interrupted"),
        # It would show no difference.
        (None, 2, "LAZYENTITY_DISABLE is set, so there is nothing to show; unset it"),
    ],
    ids=["server", "process", "patched", "interrupted", "switched-off"],
)
def test_a_demonstration_that_fails(
    error: BaseException | None, status: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(console: object) -> None:
        if error is not None:
            raise error

    if error is None:
        monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    monkeypatch.setattr(demo, "_run_both", fail)
    outcome = CliRunner().invoke(demo.main)
    assert (outcome.exit_code, outcome.output) == (status, f"Error: {message}\n")
