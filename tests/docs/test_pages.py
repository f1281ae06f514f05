"""The pages are right about the project: its results, its clients, its names and its files."""

from __future__ import annotations

import functools
import re
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

pytestmark = pytest.mark.any_backend

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


@pytest.mark.parametrize("page", ["index", "start/quickstart"])
def test_chart(page: str) -> None:
    """The first screen shows the chart of the committed results, with a text in place of it."""
    measured = results.load(tables.RESULTS / "datastore.json")
    path = DOCS / f"{page}.rst"
    document = docutils.core.publish_doctree(
        path.read_text("utf-8"), settings_overrides={"report_level": 5}
    )
    (image,) = document.findall(docutils.nodes.image)
    shown = (path.parent / image["uri"]).resolve()
    assert shown.read_text("utf-8") == chart.svg(measured)
    assert image["alt"]


def test_every_result_is_shown() -> None:
    """A results file that no page shows is measured for nothing."""
    shown = {name for _, _, name, _ in tables.parts()}
    assert {path.stem for path in tables.RESULTS.glob("*.json")} == shown


def test_clients() -> None:
    """Each client is in the table that the pages show."""
    assert f"\n{tables.table_of_clients()}\n" in (ROOT / tables.CLIENTS).read_text("utf-8")
    for client in CLIENTS.values():
        assert f"\n{client.distribution} " in tables.table_of_clients()


def test_a_table_of_clients_that_is_out_of_date_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = (ROOT / tables.CLIENTS).read_text("utf-8")
    page = tmp_path / "page.rst"
    monkeypatch.setattr(tables, "CLIENTS", page)
    page.write_text(current.replace("google-cloud-ndb ", "google-cloud-nbd "))
    assert page.read_text() != current
    assert tables.wanted()[page] == current
    page.write_text("text")
    with pytest.raises(tables.MarkersMissing, match=r"clients-start"):
        tables.wanted()


def test_public_names() -> None:
    """The page of the API lists and documents the public names, all of them and no others."""
    text = (DOCS / "reference" / "api.rst").read_text("utf-8")
    table = text.split("The public names, all of them:")[1].split("Everything else")[0]
    public = set(lazyentity.__all__) - {"__version__"}
    listed = set(re.findall(r"^``(?:LazyEntity\.)?(\w+)", table, flags=re.MULTILINE)) - {"import"}
    assert listed == public
    documented = re.findall(r"^\.\. (?:auto\w+|py:data):: lazyentity\.(\w+)$", text, re.MULTILINE)
    assert sorted(documented) == sorted(public)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_and_their_names(page: Path) -> None:
    """A file that a page names is there, and holds what the page says."""
    text = page.read_text("utf-8")
    for path in PATH.findall(text):
        assert (ROOT / path).exists(), path
    for name, path in NAMED.findall(text):
        last = name.rpartition(".")[2]
        assert re.search(rf"\b{last}\b", (ROOT / path).read_text("utf-8")), f"{name} in {path}"


def test_internals_name_functions() -> None:
    """They name where the code of each step is."""
    pages = (DOCS / "internals").glob("*.rst")
    assert sum(len(NAMED.findall(page.read_text("utf-8"))) for page in pages) > 20


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_within_the_documentation_are_roles(page: Path) -> None:
    """Sphinx checks those, and copies the files; other relative links lead nowhere."""
    assert re.findall(r"<(?!https?://)[^<>\s]+>`_", page.read_text("utf-8")) == []


def test_extras() -> None:
    """One table lists the extras, which are for users."""
    text = (DOCS / "start" / "quickstart.rst").read_text("utf-8")
    table = text.split(".. _extras:")[1].split("\n=====", 3)[2]
    provided = metadata.metadata("lazyentity").get_all("Provides-Extra") or []
    assert set(re.findall(r"^``([\w-]+)`` ", table, re.MULTILINE)) == set(provided)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.rst"], ids=lambda page: page.stem)
def test_commands_with_extras_are_quoted(page: Path) -> None:
    """Otherwise zsh looks for files of that name."""
    assert re.findall(r"pip install [^'\n`]*\[", page.read_text("utf-8")) == []


@functools.cache
def _tree(page: str) -> docutils.nodes.document:
    text = (DOCS / f"{page}.rst").read_text("utf-8")
    return docutils.core.publish_doctree(text, settings_overrides={"report_level": 5})


def test_every_difference_is_in_the_table() -> None:
    """The table at the top has a line for each, in the order of the page, with a link to it."""
    tree = _tree("start/changes")
    table, *_ = tree.findall(docutils.nodes.table)
    links = re.findall(r"`start/changes:(.+?)`", table.astext())
    differences = []
    for section in tree.findall(docutils.nodes.section):
        title, *rest = section.children
        has_parts = any(isinstance(part, docutils.nodes.section) for part in rest)
        if not has_parts and any(isinstance(part, docutils.nodes.field_list) for part in rest):
            differences.append(title.astext())
    assert len(differences) > 40
    assert links == differences


def test_every_page_has_one_place() -> None:
    """Each page is in one list of contents; contributors read the others in the repository."""
    text = (DOCS / "index.rst").read_text("utf-8")
    listed = re.findall(r"^   ([a-z][\w/-]+)$", text, re.MULTILINE)
    pages = {name_of(page) for page in PAGES}
    outside = {name for name in pages if name.startswith("internals/")}
    assert sorted(listed) == sorted(pages - outside - {"index"})
    assert outside
    for name in pages - outside:
        assert ":doc:`/internals" not in (DOCS / f"{name}.rst").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_headings(page: Path) -> None:
    """Each heading that a page links to is there, once."""
    for target in re.findall(r":ref:`(?:[^`<]+<)?([\w/-]+:[^`>]+)>?`", page.read_text("utf-8")):
        name, _, heading = target.partition(":")
        titles = [title.astext() for title in _tree(name).findall(docutils.nodes.title)]
        assert titles.count(heading) == 1, target
