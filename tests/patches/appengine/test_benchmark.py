"""The benchmark of App Engine's client does the reads that it names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.appengine.api import apiproxy_stub_map

import lazyentity
from lazyentity.bench import run
from lazyentity.bench.harness import verify
from lazyentity.bench.measure import ablation, page_tables
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import goals, readme
from lazyentity.bench.subjects import appengine
from lazyentity.patches.appengine.seams import CLIENT
from tests.support.benchmarks import ONCE, bench

CASES = [make() for make in appengine.select(appengine.CALLS)]
ALL_CASES = [*CASES, *(make() for make in appengine.select(appengine.NDB_CALLS))]


def _id(case: Any) -> str:
    return f"{case.call.name}-{case.read}"


@pytest.mark.parametrize("case", ALL_CASES, ids=_id)
def test_measures(case: Any) -> None:
    service = apiproxy_stub_map.apiproxy
    line = appengine.measure(case, ONCE)
    assert (line.mix, line.properties, line.read) == (case.call.name, 100, case.read)
    assert min(line.stock.median, line.lazy.median, line.upb_parse.median) > 0
    assert not lazyentity.patched()
    assert apiproxy_stub_map.apiproxy is service


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_reads_what_it_says(case: Any) -> None:
    with appengine.comparison(case) as compared, appengine.CONTEXTS["lazy"]():
        (first, *_) = compared.tasks["lazy"]()
        assert len(lazyentity.decoded(first)) == {"0": 0, "4": 4, "all": 100}[case.read]


def test_outputs_that_differ_are_found() -> None:
    def prepare(canned: Any) -> Callable[[], list[Any]]:
        read = case.call.prepare(canned)

        def other() -> list[Any]:
            found = read()
            if CLIENT.patch.active:
                found[0]["text_000"] = "another"
            return found

        return other

    case = CASES[0]
    call = dataclasses.replace(case.call, prepare=prepare)
    with pytest.raises(verify.OutputMismatch, match="another"):
        appengine.measure(dataclasses.replace(case, call=call), ONCE)


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


def test_each_seam_is_removed_in_turn() -> None:
    """The others stay in place, and the table has a row for each."""
    subject = ablation.SUBJECTS["appengine"]()
    rows = subject.without()
    installed = {seam for patch in subject.patches for seam in patch.seams}
    for removed in rows.values():
        with ablation.patched_without(subject.patches, removed):
            assert {seam for seam in installed if not seam.is_installed()} == {*removed}
    line = ablation.measure(subject, appengine.OF_POLYMODELS.name, 10, ONCE)
    assert line.gains.keys() == rows.keys()
    *_, table = page_tables.tables(PageResults.of([line]))
    assert all(f"``{name}``" in readme.rendered(table) for name in rows)
    assert not lazyentity.patched()
