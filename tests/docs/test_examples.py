"""The examples of the documentation run and give the output that the pages show."""

from __future__ import annotations

import ast
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
    assert {"start/quickstart", "guide/reading", "guide/writing", "guide/web"} <= {
        name_of(page) for page in SESSIONS
    }


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_session(page: Path, emulated: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples run as a reader copies them: comments of a page are not copied."""
    text = page.read_text("utf-8")
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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_python(page: Path) -> None:
    for block in python_blocks(page.read_text("utf-8")):
        ast.parse(block)
