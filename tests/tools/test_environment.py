"""The environment of the checkout, and the scripts and targets that are called elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import compiled
from tools import environment, tables

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-config.yaml"
FILES = sorted([HOOKS, *ROOT.glob(".github/workflows/*.yml")])


def test_building_is_done_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait, but not those that do something else."""
    monkeypatch.setattr(environment, "WHEELS", tmp_path)
    with environment.alone(), environment.alone("other"):
        (lock,) = tmp_path.glob("building*")
        with lock.open("w") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the extras, the groups and the requirements, and is made anew where these change."""
    folder = tmp_path / ".venv-made"
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> None:
        commands.append(command)

    monkeypatch.setattr(environment, "WHEELS", tmp_path / "wheels")
    monkeypatch.setattr(environment, "built_wheel", lambda _: Path("one.whl"))
    monkeypatch.setattr("subprocess.run", run)

    def updated(*options: str, requirements: Sequence[str] = ()) -> list[list[str]]:
        commands.clear()
        monkeypatch.setattr("sys.argv", ["environment.py", *options, str(folder), *requirements])
        environment.main()
        return [*commands]

    groups = environment.pyproject()["dependency-groups"]
    options = "--extras=bench,ndb", "--groups=docs,test", "--uv=uv"
    made, installed = updated(*options, requirements=["wrapt==2"])
    assert made[1:] == ["-m", "venv", str(folder)]
    assert installed[:2] == ["uv", "pip"]
    wanted = ["one.whl[bench,ndb]", *groups["docs"], *groups["test"], "wrapt==2"]
    assert installed[-len(wanted) :] == wanted
    assert updated(*options, requirements=["wrapt==2"]) == []
    # Whether uv or pip installed makes no difference.
    assert updated(*options[:-1], requirements=["wrapt==2"]) == []
    monkeypatch.setattr(environment, "native", lambda: "changed")
    (again,) = updated(*options, requirements=["wrapt==2"])
    assert again[-3:] == ["--no-deps", "--force-reinstall", "one.whl"]
    _, installed = updated("--groups=docs")
    assert "pip" in installed
    assert installed[-len(groups["docs"]) - 1 :] == ["one.whl", *groups["docs"]]
    with pytest.raises(KeyError, match="doc"):
        updated("--groups=doc")
    (folder / environment.RECORD).unlink()
    with pytest.raises(SystemExit, match="was not made by this Makefile"):
        updated()


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of a checkout with one native module."""
    (tmp_path / "lazyentity").mkdir()
    (tmp_path / "lazyentity" / "module.pyx").write_text("def one(): return 1\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "building.py").touch()
    (tmp_path / "setup.py").touch()
    monkeypatch.setattr(environment, "CHECKOUT", tmp_path)
    monkeypatch.setattr(environment, "WHEELS", tmp_path / "wheels")
    found = tmp_path / "wheels" / str(sysconfig.get_config_var("SOABI")) / environment.RECORD
    found.parent.mkdir(parents=True)
    found.write_text(json.dumps([str(tmp_path), "configuration", environment.native()]))
    return found


@pytest.mark.parametrize(
    "name", ["lazyentity/module.pyx", "lazyentity/other.pxd", "setup.py", "tools/building.py"]
)
def test_sources_that_have_changed(record: Path, name: str) -> None:
    assert compiled.problem() is None
    (environment.CHECKOUT / name).write_text("def one(): return 2\n")
    with pytest.raises(pytest.UsageError, match="make venv"):
        compiled.pytest_configure()
    record.unlink()
    compiled.pytest_configure()


def test_modules_that_make_did_not_compile(record: Path) -> None:
    """Sources that are newer than these have changed."""
    record.unlink()
    module = environment.CHECKOUT / "lazyentity" / f"module{sysconfig.get_config_var('EXT_SUFFIX')}"
    module.touch()
    sources = environment.native_sources()
    for source in sources:
        os.utime(source, (1, 1))
    assert compiled.problem() is None
    for source in sources:
        os.utime(source, (module.stat().st_mtime + 1, module.stat().st_mtime + 1))
        assert compiled.problem() is not None
        os.utime(source, (1, 1))


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
