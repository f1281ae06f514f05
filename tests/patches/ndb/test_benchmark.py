"""The benchmark of models does the reads that it names."""

from __future__ import annotations

import functools
import unittest.mock
from pathlib import Path
from typing import Any

import pytest
from docutils.core import publish_doctree
from docutils.nodes import entry, row, table
from google.cloud import ndb
from google.cloud.ndb import model
from rich.console import Console

import lazyentity
from lazyentity.bench import cli, run
from lazyentity.bench.harness import results, verify
from lazyentity.bench.report import goals, readme, terminal
from lazyentity.bench.subjects import end_to_end_models, models
from tests.support.benchmarks import ONCE, bench

pytestmark = pytest.mark.usefixtures("only_new_objects", "kept_servers")


@pytest.mark.parametrize(("read", "count"), [("0", 0), ("1", 1), ("4", 4), ("all", 12)])
def test_end_to_end_reads_what_it_says(read: str, count: int) -> None:
    with end_to_end_models.loaded("ndb fetch", 3, 12, read) as call:
        assert [len(values) for values in call.run("lazy")] == [count] * 3


@pytest.mark.parametrize(("read", "count"), [("1", 1), ("all", 12)])
def test_the_structured_property_is_stored_in_parts_and_lazy(read: str, count: int) -> None:
    """Only where all is read, it is read."""
    with end_to_end_models.loaded("ndb fetch, structured", 3, 12, read) as call:
        stock, lazy = call.run("stock"), call.run("lazy")
        assert [len(values) for values in lazy] == [count] * 3
        call.check(stock, lazy)
    parts = [name for name in models.structured_entity(12, 3) if "." in name]
    assert len(parts) == 4
    plain = [value for values in lazy for value in values if not isinstance(value, ndb.Model)]
    assert len(plain) == 3 * (count - (read == "all"))


@pytest.mark.parametrize("read", end_to_end_models.READS)
def test_models_that_differ_are_found_end_to_end(
    read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no property was read."""
    with end_to_end_models.loaded("ndb fetch", 3, 12, read) as call:
        stock, lazy = call.run("stock"), call.run("lazy")
        call.check(stock, lazy)
        with pytest.raises(verify.OutputMismatch, match="entities"):
            call.check(stock[:2], lazy[:2])
        convert = model._entity_from_protobuf

        def another(entity_pb: Any) -> Any:
            made = convert(entity_pb)
            made._values[next(iter(made._properties))] = model._BaseValue("another")
            return made

        monkeypatch.setitem(
            models.CONTEXTS,
            "lazy",
            functools.partial(unittest.mock.patch.object, model, "_entity_from_protobuf", another),
        )
        with pytest.raises(verify.OutputMismatch):
            call.check(stock, lazy)


def test_the_grid() -> None:
    """Both kinds of classes, every count, every read, all calls; the goals are part of it."""
    sections = [section for section, _ in run.ndb_steps(run.FULL)]
    assert sections.count("models") == 2 * 3 * 4
    assert sections.count("end to end") == 4 * 3 * 4 + 2 * 4
    assert run.PROPERTIES in models.COUNTS
    assert "1" in end_to_end_models.READS


def test_table_of_calls() -> None:
    """The calls are a row for each number of properties, with the gain of each read."""
    lines = [
        end_to_end_models.measure("ndb get_multi", 3, properties, read, ONCE)
        for properties in (5, 6)
        for read in ("0", "4", "all")
    ]
    measured = results.Results.of(lines, "own", None)
    tree = publish_doctree(readme.render(measured), settings_overrides={"halt_level": 2})
    (found,) = tree.findall(table)
    header, *rows = ([cell.astext() for cell in line.findall(entry)] for line in found.findall(row))
    assert header[4:] == ["none read", "1 read", "4 read", "all read"]
    assert [line[1] for line in rows] == ["3 x 5", "3 x 6"]
    for line, (none, four, everything) in zip(rows, (lines[:3], lines[3:]), strict=True):
        assert line[2] == f"{four.stock.median:.1f}"
        assert line[5] == "not measured"
        for cell, of in ((line[4], none), (line[6], four), (line[7], everything)):
            assert cell.startswith(f"{of.ratio.median:.1f}x")
    console = Console(width=80, record=True)
    terminal.show(measured, console)
    shown = console.export_text()
    assert shown.count("ndb get_multi: ") == 1
    assert shown.count("3 x 5") == shown.count("3 x 6") == 3
    for measured_line in lines:
        for summary in (measured_line.stock, measured_line.lazy, measured_line.ratio):
            assert terminal.spread(summary) in shown


def test_the_lazy_side_is_lazy() -> None:
    """And reads the properties of the case, no others."""
    case = models.case("Model", 10, "4")
    tasks = models.comparison(case).tasks
    with models.CONTEXTS["lazy"]():
        made = tasks["lazy"]()
    assert {len(instance._values._undecoded()) for instance in made} == {6}
    assert {type(instance._values) for instance in tasks["stock"]()} == {dict}


def test_models_that_differ_are_found() -> None:
    tasks = models.comparison(models.case("Model", 5, "0")).tasks
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

    monkeypatch.setitem(cli._SUBJECTS, "--ndb", ("ndb", steps, goals.NDB_GOALS))
    output = tmp_path / "results.json"
    finished = bench("--ndb", "--quick", "--check", "--output", output)
    assert measured
    assert output.exists()
    figures = [goal.figure for goal in goals.NDB_GOALS if goal.backend == lazyentity.backend]
    assert finished.exit_code == bool(figures)
    assert all(figure in finished.output for figure in figures)
    assert "Model: bytes in, entities out" in finished.output


def test_options_that_do_not_go_together() -> None:
    finished = bench("--ndb", "--mixes", "mixed")
    assert finished.exit_code == 2
    assert "do not go with --ndb" in finished.output
