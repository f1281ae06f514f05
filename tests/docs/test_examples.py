"""The examples of the documentation run and give the output that the pages show."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest

from lazyentity.bench.server.process import LoopbackServer

from .pages import DOCS, PAGES, name_of, python_blocks

SESSIONS = [page for page in PAGES if "\n>>> " in page.read_text("utf-8")]


def test_pages_with_sessions() -> None:
    """The pages of the guide have examples."""
    assert {"start/quickstart", "guide/reading", "guide/writing", "guide/web"} <= {
        name_of(page) for page in SESSIONS
    }


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_session(page: Path, emulated: LoopbackServer) -> None:
    outcome = doctest.testfile(
        str(page),
        module_relative=False,
        optionflags=doctest.NORMALIZE_WHITESPACE,
        globs={"RECIPES": DOCS / "recipes", "__name__": name_of(page)},
    )
    assert outcome.attempted > 1
    assert outcome.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_python(page: Path) -> None:
    for block in python_blocks(page.read_text("utf-8")):
        ast.parse(block)
