"""Finding a command, running it, and its end in one sentence."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from lazyentity import __version__
from lazyentity._environment import Obstacle
from lazyentity.cli import dispatch
from lazyentity.cli.dispatch import COMMANDS, Command, Failure


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with a command ``made``, whose ``main`` the test sets."""
    module = ModuleType("made_command")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(COMMANDS, "made", Command(module.__name__, "a test", "bench"))
    return module


def raising(error: BaseException) -> Any:
    def main(arguments: list[str], program: str) -> int:
        raise error

    return main


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        *((["--help"], f"  {name} ") for name in COMMANDS),
        *(([name, "--help"], f"python -m lazyentity {name}") for name in COMMANDS),
    ],
)
def test_help(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        dispatch.main(arguments)
    assert text in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        dispatch.main(["--version"])
    assert capsys.readouterr().out == f"lazyentity {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_main(name: str) -> None:
    assert callable(importlib.import_module(COMMANDS[name].module).main)


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main([]) == 2
    assert "demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dmeo", "there is no command 'dmeo'; did you mean 'demo'?"),
        ("xyzzy", "there is no command 'xyzzy'"),
        ("--typo", "unrecognized arguments: --typo"),
    ],
)
def test_typos(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        dispatch.main([name, "--help"])
    assert capsys.readouterr().err.splitlines()[-1] == f"python -m lazyentity: error: {message}"


@pytest.mark.parametrize("status", [0, None, 3])
def test_arguments_and_status(command: ModuleType, status: int | None) -> None:
    """A command gets the rest of the arguments, whatever they look like."""
    given: list[Any] = []

    def main(*arguments: Any) -> int | None:
        given.extend(arguments)
        return status

    vars(command)["main"] = main
    assert dispatch.main(["made", "--help", "-x", "--"]) == (status or 0)
    assert given == [["--help", "-x", "--"], "python -m lazyentity made"]


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (Failure("it is so; do this", status=7), 7, "it is so; do this"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_failures(
    error: BaseException,
    status: int,
    sentence: str,
    command: ModuleType,
    capsys: pytest.CaptureFixture[str],
) -> None:
    vars(command)["main"] = raising(error)
    assert dispatch.main(["made"]) == status
    assert capsys.readouterr().err == f"python -m lazyentity made: {sentence}\n"


def test_other_errors_keep_their_traceback(command: ModuleType) -> None:
    """An error that nobody expected has to be found."""
    vars(command)["main"] = raising(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        dispatch.main(["made"])


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (ModuleNotFoundError(name="click"), "click"),
        (ModuleNotFoundError(name="google.missing"), "google.missing"),
        (ImportError("install it", name="zstandard"), "zstandard"),
    ],
)
def test_a_missing_requirement(
    error: ImportError,
    missing: str,
    command: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One sentence names the extra."""
    monkeypatch.setattr(importlib, "import_module", mock.Mock(side_effect=error))
    assert dispatch.main(["made"]) == 2
    assert capsys.readouterr().err == (
        f"python -m lazyentity made: the module {missing} is not installed; install what this "
        "command needs with `pip install '.[bench]'` in a checkout of lazyentity\n"
    )


def test_the_reader_of_the_output_is_gone(
    command: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in ``| head -1``: nothing is printed about it, not when the interpreter ends either."""
    replaced: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda _, number: replaced.append(number))
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    vars(command)["main"] = raising(BrokenPipeError())
    assert dispatch.main(["made"]) == 1
    assert replaced == [1]
    assert capsys.readouterr().err == ""


def test_a_backend_that_is_not_there(
    command: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAZYENTITY_BACKEND", "naive")
    vars(command)["main"] = lambda *_: 0
    assert dispatch.main(["made"]) == 2
    assert "LAZYENTITY_BACKEND='naive' is not a backend" in capsys.readouterr().err


@pytest.mark.parametrize("other", [None, Path("/site-packages")])
def test_a_checkout_without_the_native_backend(
    other: Path | None,
    command: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It may have been imported for an installed copy, because it is the current folder."""
    monkeypatch.delenv("LAZYENTITY_BACKEND", raising=False)
    monkeypatch.setattr(dispatch, "obstacle", lambda: Obstacle("it was not built", ""))
    monkeypatch.setattr(dispatch, "_installed_elsewhere", lambda _: other)
    vars(command)["main"] = lambda *_: 0
    assert dispatch.main(["made"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("lazyentity: imported from the checkout ")
    assert "the slower one: it was not built" in told
    assert ("copy in /site-packages, run `lazyentity`" in told) == (other is not None)


def test_the_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its name is in its help and in its errors."""
    monkeypatch.setattr(sys, "argv", ["/bin/lazyentity", "doctor", "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        dispatch.main()
    assert capsys.readouterr().out.startswith("usage: lazyentity doctor ")
