"""The pages are right about the project: its results, its clients, its names and its files."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import docutils.core
import docutils.nodes
import pytest

import lazyentity
from lazyentity.bench import chart, results
from lazyentity.patches.clients import CLIENTS
from tools import tables

from .pages import DOCS, PAGES, ROOT, name_of

FOLDERS = "lazyentity|patches|bench|tests|tools|docs"
NAMED = re.compile(r"``([\w.]+)(?:\(\))?``\s+in\s+``((?:" + FOLDERS + r")/[\w/.]+)``")
PATH = re.compile(r"``((?:" + FOLDERS + r")/[\w/.-]*)``")


def test_generated_parts() -> None:
    """Each is what ``python tools/tables.py`` writes of the results and the list of clients."""
    stale = [
        str(path.relative_to(ROOT))
        for path, text in tables.wanted().items()
        if path.read_text("utf-8") != text
    ]
    assert not stale, "write them by python tools/tables.py"


def test_charts() -> None:
    """Each page with a chart has a text in place of it, and every chart is on a page.

    That the charts are those of the results, test_generated_parts checks.
    """
    shown: dict[str, list[str]] = {}
    for page in PAGES:
        document = docutils.core.publish_doctree(
            page.read_text("utf-8"), settings_overrides={"report_level": 5}
        )
        for image in document.findall(docutils.nodes.image):
            path = (page.parent / image["uri"]).resolve()
            assert path.parent == tables.RESULTS.resolve()
            assert image["alt"]
            shown.setdefault(path.name, []).append(name_of(page))
    assert set(shown) == set(tables.CHARTS)
    assert "index" in shown["datastore.svg"]
    assert "start/quickstart" in shown["by-read.svg"]


def test_charts_are_in_proportion() -> None:
    """Bars begin at one place, stay inside, and have the lengths of their figures."""
    for file, (name, draw) in tables.CHARTS.items():
        text = draw(results.load(tables.RESULTS / f"{name}.json"))
        bars = re.findall(r'class="(?:stock|eager|lazy)" x="(\d+)" y="\d+" width="([\d.]+)"', text)
        assert len(bars) > 6, file
        assert {left for left, _ in bars} == {"8"}
        assert max(float(width) for _, width in bars) < chart.WIDTH - 8
    figures = [float(figure) for figure in re.findall(r">([\d.]+) µs<", text_of("by-read.svg"))]
    widths = [
        float(width)
        for width in re.findall(
            r'class="(?:stock|eager|lazy)".*? width="([\d.]+)"', text_of("by-read.svg")
        )
    ]
    assert widths == pytest.approx([each * widths[0] / figures[0] for each in figures], abs=0.2)


def text_of(file: str) -> str:
    """The text of a committed chart."""
    return (tables.RESULTS / file).read_text("utf-8")


def test_by_read() -> None:
    """The text in place of the chart says its figures."""
    measured = {
        line.done: line
        for line in results.load(tables.RESULTS / "datastore.json").lines
        if (line.section, line.case, line.properties) == ("read", "mixed", chart.MOST)
    }
    none, every = measured["0 read"], measured["all read"]
    text = (
        f"stock takes {none.stock.median:.0f} µs in any case, eager mode "
        f"{measured['eager'].lazy.median:.0f} µs, lazy mode from {none.lazy.median:.0f} µs for "
        f"none to {every.lazy.median:.0f} µs for all."
    )
    for page in ("start/quickstart", "benchmarks/native"):
        assert text in " ".join((DOCS / f"{page}.rst").read_text("utf-8").split())


def test_clients() -> None:
    """Each client is in the table that the pages show."""
    assert f"\n{tables.table_of_clients()}\n" in (ROOT / tables.CLIENTS).read_text("utf-8")
    for client in CLIENTS.values():
        assert f"\n{client.distribution} " in tables.table_of_clients()


def test_public_names() -> None:
    """The page of the API documents the names of ``lazyentity``, all of them and no others."""
    text = (DOCS / "reference" / "api.rst").read_text("utf-8")
    documented = re.findall(r"^\.\. (?:auto\w+|py:data):: lazyentity\.(\w+)$", text, re.MULTILINE)
    assert sorted(documented) == sorted(set(lazyentity.__all__) - {"__version__"})


def test_public_modules() -> None:
    """The page of the API lists the public modules with their names."""
    text = (DOCS / "reference" / "api.rst").read_text("utf-8")
    table = text.partition("Activating\n")[0]
    rows = re.split(r"^``(lazyentity[\w.]*)``", table, flags=re.MULTILINE)[1:]
    listed = {name: set(re.findall(r"``(\w+)``", cells)) for name, cells in _pairs(rows)}
    leaves = {"auto", "beam", "bulk", "firestore", "packed", "packed.appengine", "snapshot"}
    assert set(listed) == {"lazyentity", *(f"lazyentity.{name}" for name in leaves)}
    for name in ("bulk", "packed", "snapshot"):
        module = importlib.import_module(f"lazyentity.{name}")
        assert listed[f"lazyentity.{name}"] == set(module.__all__)


def _pairs(rows: list[str]) -> Iterator[tuple[str, str]]:
    return zip(rows[::2], rows[1::2], strict=True)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_and_their_names(page: Path) -> None:
    """A file that a page names is there, and holds what the page says."""
    text = page.read_text("utf-8")
    for path in PATH.findall(text):
        assert (ROOT / path).exists(), path
    for name, path in NAMED.findall(text):
        last = name.rpartition(".")[2]
        assert re.search(rf"\b{last}\b", (ROOT / path).read_text("utf-8")), f"{name} in {path}"


def test_extras() -> None:
    """One table lists the extras, which are for users."""
    text = (DOCS / "start" / "quickstart.rst").read_text("utf-8")
    table = text.split(".. _extras:")[1].split("\n=====", 3)[2]
    provided = metadata.metadata("lazyentity").get_all("Provides-Extra") or []
    assert set(re.findall(r"^``([\w-]+)`` ", table, re.MULTILINE)) == set(provided)


@functools.cache
def _tree(page: str) -> docutils.nodes.document:
    text = (DOCS / f"{page}.rst").read_text("utf-8")
    return docutils.core.publish_doctree(text, settings_overrides={"report_level": 5})


def _differences(page: str) -> list[str]:
    """The titles of the sections that say what happens, when, and what to do."""
    return [
        section[0].astext()
        for section in _tree(page).findall(docutils.nodes.section)
        if any(_opens_with(part, "What happens") for part in section.children)
    ]


def _opens_with(part: docutils.nodes.Node, name: str) -> bool:
    """Whether it is a list of fields that begins with that name."""
    return isinstance(part, docutils.nodes.field_list) and part.astext().startswith(name)


def test_every_difference_is_in_the_table() -> None:
    """The table at the top has a line for each, in the order of the page, with a link to it.

    A line for each other client leads to the differences of that client.
    """
    table, *_ = _tree("start/changes").findall(docutils.nodes.table)
    links = re.findall(r"`([\w/-]+):(.+?)`", table.astext())
    own = [heading for page, heading in links if page == "start/changes"]
    assert own == _differences("start/changes")
    assert len(own) > 20
    others = [page for page, heading in links if page != "start/changes"]
    assert {heading for page, heading in links if page in others} == {"Differences"}
    listed = {name_of(page) for page in PAGES if "\nDifferences\n-" in page.read_text("utf-8")}
    assert sorted(others) == sorted(listed)
    with_fields = {name_of(page) for page in PAGES if _differences(name_of(page))}
    assert with_fields <= {"start/changes", *others}
