"""The benchmark of App Engine's client does the reads that it names."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from google.appengine.api import datastore

import lazyentity
from lazyentity.bench import run
from lazyentity.bench.report import goals
from lazyentity.bench.subjects import appengine
from tests.patches.appengine.db.pairs import is_lazy
from tests.support.benchmarks import ONCE, bench

CASES = [make() for make in appengine.select({**appengine.CALLS, **appengine.DB_CALLS})]


def _decoded(found: Any) -> Any:
    if isinstance(found, datastore.Entity):
        return lazyentity.decoded(found)
    assert is_lazy(found)
    properties = found.properties().values()
    return [each for each in properties if dict.__contains__(vars(found), f"_{each.name}")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.call.name}-{case.read}")
def test_reads_what_it_says(case: Any) -> None:
    with appengine.comparison(case) as compared, appengine.CONTEXTS["lazy"]():
        (first, *_) = compared.tasks["lazy"]()
        assert len(_decoded(first)) == {"0": 0, "4": 4, "all": 100}[case.read]


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It measures the figures of the goals."""
    monkeypatch.setattr(run, "QUICK", dataclasses.replace(run.QUICK, conversion=ONCE))
    output = tmp_path / "results.json"
    finished = bench("--quick", "--appengine", "--check", "--output", output)
    assert output.exists(), finished.output
    assert "not measured" not in finished.output
    assert [goal.figure for goal in goals.APPENGINE_GOALS if goal.backend == "native"]


def test_goes_with_no_other_choice(tmp_path: Path) -> None:
    for others in (["--ndb"], ["--mixes", "mixed"]):
        finished = bench("--appengine", *others, "--output", tmp_path / "results.json")
        assert finished.exit_code == 2
        assert "do not go with" in finished.output
