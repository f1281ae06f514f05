"""The examples of the documentation run and give the output that the pages show."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import sys
from pathlib import Path

import pytest

from lazyentity.bench.server.process import LoopbackServer

from .pages import DOCS, PAGES, name_of, python_blocks, sessions

SESSIONS = [page for page in PAGES if ">>> " in page.read_text("utf-8")]


def test_pages_with_sessions() -> None:
    """The pages of the guide have examples."""
    assert {
        *("start/quickstart", "guide/reading", "guide/writing", "guide/web", "bulk", "snapshot")
    } <= {name_of(page) for page in SESSIONS}


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_session(
    page: Path, emulated: LoopbackServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The examples run as a reader copies them: comments of a page are not copied."""
    text = page.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    for recipe in re.findall(r"^Save it as ``(\w+)\.py``", text, re.MULTILINE):
        assert f"../recipes/{recipe}.py" in text
        monkeypatch.syspath_prepend(DOCS / "recipes")
        monkeypatch.delitem(sys.modules, recipe, raising=False)
    # The page may be the first thing that a program imports.
    monkeypatch.delitem(sys.modules, "lazyentity.auto", raising=False)
    visible = "\n\n".join(sessions(text)) + "\n"
    example = doctest.DocTestParser().get_doctest(visible, {}, name_of(page), str(page), 0)
    outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)
    assert outcome.attempted > 1
    assert outcome.failed == 0


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_readers_know_the_server(page: Path) -> None:
    """A page with a client says by which command a reader starts a server."""
    text = page.read_text("utf-8")
    assert "Client(" in "".join(sessions(text))
    assert "``python -m lazyentity server``" in text or "$ python -m lazyentity server\n" in text


def _names(code: str) -> tuple[set[str], set[str]]:
    """Return the names that code makes, and those that it reads."""
    made: set[str] = set()
    read: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
    return made, read


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_have_their_names(page: Path) -> None:
    """A block uses what it makes itself, what the page shows before, or a built-in function."""
    text = page.read_text("utf-8")
    parsed = map(doctest.DocTestParser().get_examples, sessions(text))
    known = {*dir(builtins)}.union(*(_names(each.source)[0] for every in parsed for each in every))
    for block in python_blocks(text):
        made, read = _names(block)
        known |= made
        assert read <= known, block
