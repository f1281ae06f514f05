"""The examples of the documentation run and give the output that the pages show."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lazyentity
from lazyentity.bench.server.demo import start_firestore
from lazyentity.bench.server.process import LoopbackServer

from .pages import DOCS, PAGES, ROOT, name_of, python_blocks, sessions

SESSIONS = [page for page in (*PAGES, ROOT / "README.rst") if ">>> " in page.read_text("utf-8")]
KINDS = re.compile(
    r"""\bkind="(\w+)"|\.key\("(\w+)"|Key\("(\w+)"|class (\w+)\(ndb|\.collection\("(\w+)"""
)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """One server of each kind, which all pages share; where the clients look for them."""
    with LoopbackServer() as datastore:
        places = {"DATASTORE_EMULATOR_HOST": f"127.0.0.1:{datastore.grpc_port}"}
        if importlib.util.find_spec("google.cloud.firestore") is None:
            yield places
            return
        firestore, port = start_firestore(0, is_loaded=False)
        yield places | {"FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{port}"}
        firestore.stop(None)


# Forwards, then backwards: no page needs what another one stored, and each can be read twice.
@pytest.mark.parametrize(
    "page", [*SESSIONS, *reversed(SESSIONS)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_session(
    page: Path, servers: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The examples run as a reader copies them: comments of a page are not copied."""
    text = page.read_text("utf-8")
    if "FIRESTORE_EMULATOR_HOST" in text:
        pytest.importorskip("google.cloud.firestore")
        if lazyentity.backend == "pure":
            pytest.skip("Firestore needs the native backend")
    monkeypatch.chdir(tmp_path)
    for name, place in servers.items():
        monkeypatch.setenv(name, place)
    for recipe in re.findall(r"^Save it as ``(\w+)\.py``", text, re.MULTILINE):
        monkeypatch.syspath_prepend(DOCS / "recipes")
        monkeypatch.delitem(sys.modules, recipe, raising=False)
    # The page may be the first thing that a program imports.
    monkeypatch.delitem(sys.modules, "lazyentity.auto", raising=False)
    visible = "\n\n".join(sessions(text)) + "\n"
    example = doctest.DocTestParser().get_doctest(visible, {}, page.stem, str(page), 0)
    try:
        outcome = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)
    finally:
        lazyentity.unpatch()
    assert outcome.attempted > 1
    assert outcome.failed == 0


def test_kinds() -> None:
    """Each page has a kind or a collection of its own, apart from the orders of ``--demo``."""
    seen: dict[str, Path] = {}
    for page in SESSIONS:
        code = "\n".join(sessions(page.read_text("utf-8")))
        for kind in {name for found in KINDS.findall(code) for name in found if name}:
            assert kind not in {"Order", "orders"}, page
            assert seen.setdefault(kind, page) == page, kind
    assert len(seen) >= len(SESSIONS) - 1


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_recipes_are_saved(page: Path) -> None:
    """A page that shows a program says under which name to save it."""
    text = page.read_text("utf-8")
    shown = re.findall(r"^\.\. literalinclude:: .*recipes/(\w+)\.py$", text, re.MULTILINE)
    assert shown == re.findall(r"^Save it as ``(\w+)\.py``", text, re.MULTILINE)


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
