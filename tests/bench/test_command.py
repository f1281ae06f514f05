"""The commands ``bench`` and ``demo``: options, outcomes, and a sentence for each failure."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lazyentity.bench import clients, harness, results, verify
from lazyentity.bench.harness import Case
from tests.support import subprocesses
from tests.support.benchmarks import bench

from .made import make_line, no_cases

_WITHOUT_FURTHER_EXTRAS = """
import sys
for name in ("psutil", "tabulate", "zstandard"):
    sys.modules[name] = None
import lazyentity.bench.cli, lazyentity.bench.demo, lazyentity.bench.server.command
"""


def test_the_extra_bench_is_enough() -> None:
    """The commands can be imported without the requirements of other extras."""
    done = subprocesses.run("-c", _WITHOUT_FURTHER_EXTRAS)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def measure_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any measurement fails the test."""
    monkeypatch.setattr(harness, "measure", lambda *_: pytest.fail("measuring started"))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes the measurements give the lines at hand, then a failure if there is one."""

    def measuring(lines: list[results.Line], failure: BaseException | None = None) -> None:
        left = iter(lines)

        def measure(case: Case, budget: Any) -> results.Line:
            if failure is None:
                return next(left)
            for line in left:
                return line
            raise failure

        monkeypatch.setattr(clients, "cases", no_cases)
        monkeypatch.setattr(harness, "measure", measure)

    return measuring


def _lines() -> list[results.Line]:
    return [make_line("mixed", count, "4 read", "µs per entity") for count in (5, 20, 100)]


@pytest.mark.usefixtures("measure_nothing")
def test_unwritable_files_are_found_before_measuring(tmp_path: Path) -> None:
    """A file that cannot be written is a clear error and exit code 2 before the measuring."""
    outcome = bench("--output", tmp_path / "missing" / "file")
    assert outcome.exit_code == 2
    assert outcome.output.startswith("Error: cannot write ")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("measure_nothing")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--project", "p"),
        ("--kind", "K", "--only", "query"),
        ("ndb", "--kind", "K"),
        ("other",),
        ("--kind", "K", "--read", "a,,b"),
        ("--kind", ""),
        ("--read", "a"),
        ("--firestore",),
        ("--collection", "c"),
        ("--firestore", "--collection", "c", "--kind", "K"),
        ("--only", "nothing of this name"),
    ],
)
def test_options_that_do_not_go_together(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Arguments that make no sense are refused at once, with the usage."""
    outcome = bench(*arguments, "--output", tmp_path / "results.json")
    assert outcome.exit_code == 2
    assert "Usage:" in outcome.output


def test_results_are_written_and_shown(measured: Callable[..., None], tmp_path: Path) -> None:
    """A run ends in a JSON file, and tables that open with the bias."""
    measured(_lines())
    output = tmp_path / "results.json"
    outcome = bench("--quick", "--output", output)
    assert outcome.exit_code == 0, outcome.output
    recorded = results.load(output)
    assert (recorded.client, recorded.mode, recorded.lines) == ("datastore", "quick", _lines())
    assert "One machine, synthetic entities" in outcome.output
    assert "10.0x" in outcome.output


def test_outputs_that_differ_record_nothing(measured: Callable[..., None], tmp_path: Path) -> None:
    """When lazy and stock differ, there are no results, and the error says where they differ."""
    measured([], verify.OutputMismatch("entities[0]['a']: 1 in place of 2"))
    output = tmp_path / "results.json"
    outcome = bench("--output", output)
    assert outcome.exit_code == 1
    assert "entities[0]['a']: 1 in place of 2" in outcome.output
    assert not output.exists()


def test_measured_lines_are_kept(measured: Callable[..., None], tmp_path: Path) -> None:
    """Ctrl-C keeps the lines before it."""
    measured(_lines()[:2], KeyboardInterrupt())
    output = tmp_path / "results.json"
    outcome = bench("--quick", "--output", output)
    assert outcome.exit_code == 130
    assert "Interrupted: the measurements that were not made are missing." in outcome.output
    assert outcome.output.splitlines()[-1] == "Error: interrupted after 2 of 3 measurements"
    recorded = results.load(output)
    assert recorded.interrupted
    assert recorded.lines == _lines()[:2]


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (("ndb",), "lazyentity.bench.clients.ndb"),
        (("--firestore", "--collection", "c"), "lazyentity.bench.clients.firestore"),
    ],
)
def test_a_client_that_is_not_installed(
    arguments: tuple[str, ...], module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    outcome = bench(*arguments, "--output", tmp_path / "results.json")
    assert outcome.exit_code == 2
    client = arguments[0].strip("-")
    assert outcome.output.startswith(f"Error: {client} cannot be imported (")
    assert outcome.output.endswith(f"`pip install '.[{client}]'` in a checkout of lazyentity\n")


@pytest.mark.slow
@pytest.mark.parametrize("client", ["datastore", "firestore"])
def test_demo(client: str) -> None:
    """The demonstration shows both codes, and equal totals."""
    if client == "firestore":
        pytest.importorskip("google.cloud.firestore")
    options = ["--firestore"] if client == "firestore" else []
    child = subprocess.run(
        [sys.executable, "-m", "lazyentity", "demo", *options],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert child.stdout.count(f"from google.cloud import {client}") == 2
    assert child.stdout.count("import lazyentity.auto") == 1
    assert "11,212.50 11,212.50 equal" in " ".join(child.stdout.split())
