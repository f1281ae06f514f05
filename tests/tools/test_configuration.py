"""The scripts and targets that the workflows and the hooks call are there."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tools import clients

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
    for matrix in re.findall(r"^ +target: \[(.*)\]", text, re.MULTILINE):
        called += matrix.split(", ")
    assert scripts + called, "the test finds nothing"
    assert [name for name in scripts if not (ROOT / name).is_file()] == []
    assert set(called) <= set(targets)


def test_the_hook_of_the_table_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names a page that has the table."""
    (arguments,) = re.findall(r"entry: python3 (tools/clients\.py .*)", HOOKS.read_text("utf-8"))
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", shlex.split(arguments))
    clients.main()
