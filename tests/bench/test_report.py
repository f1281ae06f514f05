from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path
from typing import Any

import pytest
from docutils.core import publish_doctree
from docutils.nodes import entry, paragraph, row, table
from rich.console import Console

from lazyentity.bench.cases import decoding
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.report import terminal
from lazyentity.bench.report.readme import (
    MarkersMissing,
    NothingToShow,
    markers,
    put_between_markers,
    render,
)
from lazyentity.bench.report.tables import tables

from .made import make_results

pytestmark = pytest.mark.any_backend

CHECKOUT = Path(__file__).parents[2]
SECTION, OTHER = "benchmark-table", "other-benchmark-table"


def both_markers(section: str) -> str:
    return "\n\n".join(markers(section)) + "\n"


PAGE = f"Title\n=====\n\n{both_markers(SECTION)}\nMiddle.\n\n{both_markers(OTHER)}\nEnd.\n"


WITHOUT_WRITES = {
    "conversion": [line for line in make_results().conversion if line.mix != decoding.DOCUMENT],
    "read_modify_write": [],
    "puts": [],
    "document_floor": None,
}


def test_a_section_is_put_between_its_markers() -> None:
    """The rest of the page stays; once more changes nothing, and another figure changes it."""
    section = render(make_results())
    page = put_between_markers(PAGE, SECTION, section)
    assert page == PAGE.replace(
        both_markers(SECTION), f"\n\n{section}\n\n".join(markers(SECTION)) + "\n"
    )
    assert put_between_markers(page, SECTION, section) == page
    edited = page.replace("10.0x", "11.0x", 1)
    assert edited != page
    assert put_between_markers(edited, SECTION, section) == page


def test_two_sections_in_one_page() -> None:
    """Sections of other names come from other results and leave each other alone."""
    sections = {
        SECTION: render(make_results()),
        OTHER: render(make_results(ratio=77), compact=True),
    }
    page = PAGE
    for name, section in (*sections.items(), *sections.items()):
        page = put_between_markers(page, name, section)
    first, middle, second = page.partition("Middle.")
    assert middle
    assert "10.0x" in first
    assert "77.0x" not in first
    assert "77.0x" in second
    assert "10.0x" not in second


@pytest.mark.parametrize("page", ["nothing here\n", "\n".join(reversed(markers(SECTION)))])
def test_markers_are_needed(page: str) -> None:
    with pytest.raises(MarkersMissing, match=r"\.\. benchmark-table-start"):
        put_between_markers(page, SECTION, "text")


def test_a_run_of_something_else() -> None:
    """Results without a table for the section are one clear error."""
    with pytest.raises(NothingToShow, match="measured nothing that this section shows"):
        render(Results.of([]))


@pytest.mark.parametrize(
    ("left_out", "compact", "opening", "count"),
    [
        # Three mixes, the document, its floor, read-modify-write, put, end to end, memory, new
        # names, scaling in two directions, to_dict, adapters, access, import.
        ({}, False, "One machine, synthetic entities", 16),
        # Without the document, its floor, read-modify-write and put.
        (WITHOUT_WRITES, False, "One machine, synthetic entities", 12),
        # Without two mixes, scaling and import.
        ({}, True, "Measured on 2024-05-06: ", 11),
    ],
    ids=["whole", "without-writes", "compact"],
)
def test_section(left_out: dict[str, Any], compact: bool, opening: str, count: int) -> None:
    """It is reStructuredText without warnings, with a table of each measurement.

    A whole section opens with the bias, a compact one with where it was measured.
    """
    section = render(dataclasses.replace(make_results(), **left_out), compact=compact)
    tree = publish_doctree(section, settings_overrides={"report_level": 1, "halt_level": 1})
    assert tree.astext().startswith(opening)
    assert len(list(tree.findall(table))) == count
    # A figure that there is not must not look like the begin of a list.
    assert all(isinstance(part, paragraph) for cell in tree.findall(entry) for part in cell)
    if left_out:
        assert "written" not in section
        assert "put," not in section.replace("get_multi, put_multi", "")


def test_what_was_not_measured_of_the_writes() -> None:
    """A read-modify-write of which only some changes were measured says so of the others."""
    made = make_results()
    only = [line for line in made.read_modify_write if line.changed == "1"]
    some = render(dataclasses.replace(made, read_modify_write=only))
    assert some.count("not measured") == render(made).count("not measured") + 3


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
    assert drawing == {"report/readme.py": "tabulate", "report/terminal.py": "rich"}
