from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from docutils.core import publish_doctree
from docutils.nodes import entry, paragraph, row, table
from rich.console import Console

from lazyentity.bench.cases import decoding
from lazyentity.bench.harness import files
from lazyentity.bench.harness.results import collect
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report import terminal
from lazyentity.bench.report.__main__ import main
from lazyentity.bench.report.readme import SECTION, markers, render
from lazyentity.bench.report.tables import tables

from .made import make_results

pytestmark = pytest.mark.any_backend

OTHER = "other-benchmark-table"
CHECKOUT = Path(__file__).parents[2]


def both_markers(section: str) -> str:
    return "\n\n".join(markers(section)) + "\n"


@pytest.fixture
def results_file(tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    path.write_text(files.dump(make_results()), encoding="utf-8")
    return path


@pytest.fixture
def readme(tmp_path: Path) -> Path:
    path = tmp_path / "README.rst"
    text = f"Title\n=====\n\n{both_markers(SECTION)}\nMiddle.\n\n{both_markers(OTHER)}\nEnd.\n"
    path.write_text(text, encoding="utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    outcome = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return outcome.exit_code, outcome.output


def test_update_then_check(results_file: Path, readme: Path) -> None:
    """After an update the check passes, and a second update changes nothing."""
    assert run(results_file, "--update", readme) == (0, "")
    updated = readme.read_text(encoding="utf-8")
    assert run(results_file, "--check", readme) == (0, "")
    assert run(results_file, "--update", readme) == (0, "")
    assert readme.read_text(encoding="utf-8") == updated
    assert updated.startswith("Title\n=====\n")
    assert updated.endswith("End.\n")


@pytest.mark.parametrize(
    ("committed", "options"),
    [
        ("native", []),
        ("ndb", ["--section", "ndb-benchmark-table", "--compact"]),
        ("pure", ["--section", "pure-benchmark-table", "--compact"]),
    ],
)
def test_pages_show_the_committed_results(committed: str, options: list[str]) -> None:
    """The pages have the figures of the committed results, all of them; `make results` does it."""
    path = CHECKOUT / "bench" / "results" / f"{committed}.json"
    page = CHECKOUT / "docs" / "benchmarks" / f"{committed}.rst"
    assert run(path, "--check", page, *options) == (0, "")


def test_check_finds_a_changed_figure(results_file: Path, readme: Path) -> None:
    """One digit that differs from the results file fails the check, which changes nothing."""
    run(results_file, "--update", readme)
    edited = readme.read_text(encoding="utf-8").replace("10.0x", "11.0x", 1)
    readme.write_text(edited, encoding="utf-8")
    code, output = run(results_file, "--check", readme)
    assert code == 1
    assert "--update" in output
    assert readme.read_text(encoding="utf-8") == edited


def test_two_sections_in_one_file(results_file: Path, readme: Path, tmp_path: Path) -> None:
    """Sections of other names come from other results files and leave each other alone."""
    other_file = tmp_path / "other.json"
    other_file.write_text(files.dump(make_results(ratio=77)), encoding="utf-8")
    other = (other_file, "--section", OTHER, "--compact")
    for arguments in ((results_file,), other):
        assert run(*arguments, "--update", readme) == (0, "")
    for arguments in ((results_file,), other):
        assert run(*arguments, "--check", readme) == (0, "")
    first, middle, second = readme.read_text(encoding="utf-8").partition("Middle.")
    assert middle
    assert "10.0x" in first
    assert "77.0x" not in first
    assert "77.0x" in second
    assert "10.0x" not in second


def test_the_command_that_puts_it_right(results_file: Path, readme: Path) -> None:
    """The command that a failed check suggests makes the check pass."""
    arguments = (results_file, "--section", OTHER, "--compact")
    code, output = run(*arguments, "--check", readme)
    assert code == 1
    command = output.partition("lazyentity.bench.report ")[2].partition(" puts it right")[0]
    assert run(*command.split()) == (0, "")
    assert run(*arguments, "--check", readme) == (0, "")


def test_markers_are_needed(results_file: Path, tmp_path: Path) -> None:
    """A file without the markers is an error, and stays as it was."""
    path = tmp_path / "other.rst"
    path.write_text("nothing here\n", encoding="utf-8")
    code, output = run(results_file, "--update", path)
    assert code == 1
    assert ".. benchmark-table-start" in output
    assert path.read_text(encoding="utf-8") == "nothing here\n"


def test_no_results_file(readme: Path, tmp_path: Path) -> None:
    """A results file that cannot be read is one clear error."""
    code, output = run(tmp_path / "none.json", "--check", readme)
    assert code == 1
    assert "cannot read" in output


def test_a_run_of_something_else(tmp_path: Path) -> None:
    """Results without a table for the section are one clear error."""
    path = tmp_path / "nothing.json"
    path.write_text(files.dump(collect([])), encoding="utf-8")
    code, output = run(path)
    assert code == 1
    assert "measured nothing that this section shows" in output


def test_section_is_valid_and_says_its_bias_first() -> None:
    """The section is reStructuredText without warnings, opens with the bias, and has the tables."""
    section = render(make_results())
    tree = publish_doctree(section, settings_overrides={"report_level": 1, "halt_level": 1})
    first = tree.next_node()
    assert first is not None
    assert first.astext().startswith("One machine, synthetic entities")
    # Three mixes, the document, its floor, read-modify-write, put, end to end, memory, new names,
    # scaling in two directions, to_dict, adapters, access, import.
    assert len(list(tree.findall(table))) == 16
    # A figure that there is not must not look like the begin of a list.
    assert all(isinstance(part, paragraph) for cell in tree.findall(entry) for part in cell)


def test_results_without_writes() -> None:
    """Results of a run that measured no writes and no document have no section of them."""
    made = make_results()
    reads = dataclasses.replace(
        made,
        conversion=[line for line in made.conversion if line.mix != decoding.DOCUMENT],
        read_modify_write=[],
        puts=[],
        document_floor=None,
    )
    section = render(reads)
    tree = publish_doctree(section, settings_overrides={"report_level": 1, "halt_level": 1})
    # Three mixes, end to end, memory, new names, scaling twice, to_dict, adapters, access,
    # import.
    assert len(list(tree.findall(table))) == 12
    assert "written" not in section
    assert "put," not in section.replace("get_multi, put_multi", "")


def test_what_was_not_measured_of_the_writes() -> None:
    """A read-modify-write of which only some changes were measured says so of the others."""
    made = make_results()
    only = [line for line in made.read_modify_write if line.changed == "1"]
    some = render(dataclasses.replace(made, read_modify_write=only))
    assert some.count("not measured") == render(made).count("not measured") + 3


def test_compact_section() -> None:
    """A compact section is valid, says where it was measured, and has its terminal."""
    section = render(make_results(), compact=True)
    tree = publish_doctree(section, settings_overrides={"report_level": 1, "halt_level": 1})
    assert tree.astext().startswith("Measured on 2024-05-06: ")
    # Mixed, the document, its floor, read-modify-write, put, end to end, memory, new names,
    # to_dict, adapters, access.
    assert len(list(tree.findall(table))) == 11


@pytest.mark.parametrize("compact", [False, True])
def test_losses_are_printed(compact: bool) -> None:
    """A document and an access that are slower than stock's are in every section, as slower."""
    section = render(make_results(ratio=0.83), compact=compact)
    tree = publish_doctree(section, settings_overrides={"halt_level": 2})
    texts = {
        cells[0]: cells[-1]
        for line in tree.findall(row)
        if (cells := [cell.astext() for cell in line.findall(entry)])
    }
    assert texts["all of it read"] == "0.83x (0.75-1.00)"
    assert texts['entity["name"]'] == "1.5x (1.4-1.8)"


def test_both_renderers_show_every_figure() -> None:
    """The section has the tables of the terminal, all but one mix."""
    made = make_results()
    specified = list(tables(made))
    console = Console(width=200, record=True, file=io.StringIO())
    terminal.show(made, console)
    shown = " ".join(console.export_text().split())
    section = " ".join(render(made).split())
    assert all(table.title in shown for table in specified)
    for text in (
        label.of(line) for each in specified for label in each.labels for line in each.lines
    ):
        assert text in shown
    unshown = [table.title for table in specified if " ".join(table.prose.split()) not in section]
    assert unshown == []
    assert [table.title for table in specified if not table.prose] == [
        "embedded: bytes in, entities out, µs per entity"
    ]


@pytest.mark.parametrize("backend", ["pure", "native"])
def test_tables_fit_80_columns(backend: str) -> None:
    """The terminal's tables cut no cell short, noisy as the figures may be."""
    made = make_results(backend=backend)
    noise = Summary(median=7.2, q1=1, q3=17.7, rounds=9)
    noisy = [dataclasses.replace(line, stock=noise, ratio=noise) for line in made.new_names]
    made = dataclasses.replace(made, new_names=noisy)
    console = Console(width=80, record=True, file=io.StringIO())
    terminal.show(made, console)
    shown = console.export_text()
    assert "…" not in shown
    for specified in tables(made):
        for figure in specified.figures:
            for summary in filter(None, map(figure.of, specified.lines)):
                assert terminal.spread(summary, figure.digits) in shown
    rows = [
        line for line in shown.splitlines() if line.startswith(" entities ") and "x" not in line
    ]
    assert [line.split()[-1] for line in rows] == ["±15%"] * len(made.new_names)


def test_each_library_of_tables_has_one_renderer() -> None:
    """Tables of results are specified once, and each output has one module that draws them."""
    drawing = {
        f"{path.parent.name}/{path.name}": library
        for path in (CHECKOUT / "bench").glob("*/*.py")
        for library in re.findall(
            r"^ *(?:from|import) (tabulate|rich(?= import table|\.table))\b",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert drawing == {
        "report/readme.py": "tabulate",
        "report/terminal.py": "rich",
        # Its results are not committed: a matrix with a column for each call.
        "measure/ablation.py": "tabulate",
    }
