"""The benchmark of models measures what it says it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.cloud.ndb import model

import lazyentity
from lazyentity.bench import cli, end_to_end_models, goals, models, verify
from lazyentity.bench.timing import Budget

ONCE = Budget(seconds=0, min_rounds=1, max_rounds=1, sample_seconds=0)


@pytest.mark.parametrize("read", models.READS)
@pytest.mark.parametrize("kind_of_class", models.CLASSES)
def test_conversion(kind_of_class: str, read: str) -> None:
    line = models.measure(models.case(kind_of_class, 10, read), ONCE)
    assert (line.mix, line.properties, line.read) == (kind_of_class, 10, read)
    assert min(line.stock.median, line.lazy.median, line.upb_parse.median) > 0
    assert not lazyentity.patched()


@pytest.mark.parametrize("call", end_to_end_models.CALLS)
def test_end_to_end(call: str) -> None:
    line = end_to_end_models.measure(call, 7, 12, ONCE)
    assert (line.call, line.entities, line.properties) == (call, 7, 12)
    assert min(line.stock.median, line.lazy.median) > 0


def test_the_lazy_side_is_lazy() -> None:
    """And reads what the case says, no more."""
    case = models.case("Model", 10, "4")
    tasks = models.tasks(case)
    with models.CONTEXTS["lazy"]():
        made = tasks["lazy"]()
    assert {len(instance._values._undecoded()) for instance in made} == {6}
    assert {type(instance._values) for instance in tasks["stock"]()} == {dict}


def test_models_that_differ_are_found() -> None:
    tasks = models.tasks(models.case("Model", 5, "0"))
    some, others = tasks["stock"](), tasks["stock"]()
    models.check_models(some, others)
    name = next(iter(others[3]._properties))
    others[3]._values[name] = model._BaseValue("another")
    with pytest.raises(verify.OutputMismatch, match=name):
        models.check_models(some, others)


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--ndb measures models and nothing else, and --check holds them to their goals."""
    measured: list[Any] = []

    def steps(plan: Any) -> list[Any]:
        measured.append(plan)
        return [("models", lambda: models.measure(models.case("Model", 10, "4"), ONCE))]

    monkeypatch.setattr("lazyentity.bench.run.ndb_steps", steps)
    output = tmp_path / "results.json"
    finished = CliRunner().invoke(
        cli.main, ["--ndb", "--quick", "--check", "--output", str(output)]
    )
    assert measured
    assert output.exists()
    figures = [goal.figure for goal in goals.NDB_GOALS if goal.backend == lazyentity.backend]
    assert finished.exit_code == bool(figures)
    assert all(figure in finished.output for figure in figures)
    assert "Model: bytes in, entities out" in finished.output


def test_options_that_do_not_go_together() -> None:
    finished = CliRunner().invoke(cli.main, ["--ndb", "--mixes", "mixed"])
    assert finished.exit_code == 2
    assert "do not go with --ndb" in finished.output
