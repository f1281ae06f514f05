"""The environment of the checkout has what the Makefile asks for."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tools import environment

pytestmark = pytest.mark.any_backend


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
