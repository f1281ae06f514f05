"""The scripts and targets that the workflows and the hooks call are there."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tools import environment, tables

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-config.yaml"
FILES = sorted([HOOKS, *ROOT.glob(".github/workflows/*.yml")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_they_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    scripts = re.findall(r"(?<![\w/])(?:tools|\.ci)/[\w./-]+", text)
    called = re.findall(r"(?:run|entry): make ([a-z-]+)", text)
    parts = re.findall(r"make [a-z]+ WHAT=([a-z]+)", text)
    for matrix in re.findall(r"^ +what: \[(.*)\]", text, re.MULTILINE):
        assert "WHAT=${{ matrix.what }}" in text
        assert (
            matrix.split(", ") == re.findall("^FUZZERS = (.*)", makefile, re.MULTILINE)[0].split()
        )
    assert scripts + called, "the test finds nothing"
    assert [name for name in scripts if not (ROOT / name).is_file()] == []
    assert set(called) <= set(targets)
    assert [name for name in parts if f"($(WHAT),{name})" not in makefile] == []


def test_there_are_few_targets() -> None:
    """Each is in the list of `make help`, and a line there for each part has its condition."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert targets == set(re.findall(r"^([a-z]+):.* ## ", makefile, re.MULTILINE))
    assert len(targets) < 12
    (phony,) = re.findall(r"^\.PHONY: (.*)", makefile, re.MULTILINE)
    assert set(phony.split()) == targets
    for part in re.findall(r"^#:   ([a-z]+)  ", makefile, re.MULTILINE):
        assert part == "all" or f"($(WHAT),{part})" in makefile or f"measure_{part}\n" in makefile


def test_the_hook_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs for the page with the table of clients, and for the sources of that."""
    text = HOOKS.read_text("utf-8")
    (arguments,) = re.findall(r"entry: \.venv/bin/python (tools/tables\.py .*)", text)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", shlex.split(arguments))
    tables.main()
    (files,) = re.findall(r"files: (\^\(docs.*)", text)
    for path in (tables.CLIENTS, "patches/ndb/seams.py", "patches/clients.py"):
        assert re.search(files, path)


def test_groups() -> None:
    """The Makefile and CI install groups of pyproject.toml, of requirements alone."""
    groups = environment.pyproject()["dependency-groups"]
    sources = [ROOT / "Makefile", ROOT / "tools" / "ci.py"]
    named = re.findall(
        r"GROUPS\W+([a-z,]+)", "\n".join(source.read_text("utf-8") for source in sources)
    )
    assert {name for names in named for name in names.split(",")} == set(groups)
    assert {type(requirement) for group in groups.values() for requirement in group} == {str}
