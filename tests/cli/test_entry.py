"""Ctrl-C while a command is imported: one line, and the exit status of an interruption."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support import subprocesses

pytestmark = pytest.mark.any_backend

# Interpreters import it before they run a module. It sends the signal of Ctrl-C in an import, which
# shells let the processes ignore that they start in the background.
_SITECUSTOMIZE = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself Ctrl-C there")
@pytest.mark.parametrize(
    ("arguments", "named", "modules"),
    [
        (
            ["-m", "lazyentity", "doctor"],
            "python -m lazyentity",
            ["lazyentity.cli.dispatch", "argparse", "wrapt"],
        ),
        (
            ["-m", "lazyentity.bench", "--help"],
            "python -m lazyentity bench",
            ["lazyentity.cli.dispatch", "argparse", "click"],
        ),
        (
            ["-c", "from lazyentity.cli.entry import script; script()", "--help"],
            "lazyentity-run",
            ["lazyentity.cli.run", "argparse"],
        ),
    ],
)
@pytest.mark.parametrize("which", [0, 1, -1])
def test_interrupted_import(
    arguments: list[str], named: str, modules: list[str], which: int, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SITECUSTOMIZE.format(name=modules[which]))
    ended = subprocesses.run(*arguments, warnings="ignore", PYTHONPATH=str(tmp_path))
    assert ended.stderr.splitlines()[-1].startswith(named)
    assert ended.stderr.endswith(": interrupted\n")
    assert ended.stderr.count("\n") == 1
    assert ended.returncode == 130
