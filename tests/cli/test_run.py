"""Programs that are patched before they start, their children, and Ctrl-C during an import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazyentity._environment import PROFILE
from lazyentity.cli import dispatch, run
from lazyentity.cli.dispatch import Failure
from tests.support.subprocesses import clean_environment

# Says what is patched, without importing lazyentity itself.
_STATE = """
import sys

def state():
    lazyentity = sys.modules.get("lazyentity")
    return list(lazyentity.patched()) if lazyentity else None
"""

_PROGRAM = f"""{_STATE}
import json, multiprocessing, os, subprocess

if __name__ == "__main__":
    program = "import state; print(state.state())"
    child = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    import sitecustomize, state
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        spawned = pool.apply(state.state)
    print(json.dumps({{
        "patched": state.state(),
        "argv": sys.argv[1:],
        "file": __file__,
        "child": child.stdout.strip(),
        "spawned": spawned,
        "theirs": sitecustomize.THEIRS,
        "profile": os.environ.get("LAZYENTITY_PROFILE"),
        "dev": sys.flags.dev_mode,
    }}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program, and with a ``sitecustomize`` of somebody else's."""
    (tmp_path / "program.py").write_text(_PROGRAM)
    (tmp_path / "state.py").write_text(_STATE)
    (tmp_path / "sitecustomize.py").write_text(f"{_STATE}\nTHEIRS = state()\n")
    return tmp_path


def process(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command,
        **clean_environment(**environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def answer(*command: str, **environment: str) -> Any:
    """Run a command, and return the JSON that it prints."""
    finished = process(*command, **environment)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    return json.loads(finished.stdout)


def test_a_script_and_its_children(folder: Path) -> None:
    """They are patched, also in front of the next sitecustomize, which is imported as ever."""
    program = str(folder / "program.py")
    arguments = ["--profile", "-m", "x y"]
    state = answer(
        *(sys.executable, "-X", "dev", "-W", "ignore", "-m", "lazyentity", "run", program),
        *arguments,
        PYTHONPATH=str(folder),
    )
    patched = state["patched"]
    assert "datastore" in patched
    assert state == {
        "patched": patched,
        "argv": arguments,
        "file": program,
        "child": str(patched),
        "spawned": patched,
        "theirs": patched,
        "profile": None,
        "dev": True,
    }


def test_a_module(folder: Path) -> None:
    """With arguments that look like the command's."""
    state = answer(
        *(sys.executable, "-m", "lazyentity", "run", "-m", "program", "--profile", "-m"),
        PYTHONPATH=str(folder),
        LAZYENTITY_DISABLE="",
    )
    assert "datastore" in state["patched"]
    assert state["argv"] == ["--profile", "-m"]


def test_the_options_are_those_of_the_environment(folder: Path) -> None:
    """``LAZYENTITY_DISABLE`` for one."""
    finished = process(
        *(sys.executable, "-m", "lazyentity", "run", "-m", "state"),
        PYTHONPATH=str(folder),
        LAZYENTITY_DISABLE="1",
    )
    assert "LAZYENTITY_DISABLE is set" in finished.stderr


_SCRIPT = "import sys; from lazyentity.cli.run import script; sys.exit(script())"


@pytest.mark.parametrize("name", ["PIPE", "XFSZ"])
def test_any_command(name: str) -> None:
    """Its name is looked up, and signals act, as in a shell."""
    program = f'echo "${run.PATH}"; ulimit -c 0; kill -{name} $$'
    finished = process(sys.executable, "-c", _SCRIPT, "sh", "-c", program, PYTHONPATH="other")
    assert finished.returncode == -getattr(signal, f"SIG{name}")
    assert finished.stdout.split() == [f"{run.BOOTSTRAP}{os.pathsep}other"]


def test_an_interpreter_without_lazyentity() -> None:
    """It runs its program, and says that nothing is patched."""
    python = getattr(sys, "_base_executable", sys.executable)
    found = process(python, "-c", "import lazyentity")
    if found.returncode == 0:
        pytest.skip("the interpreter outside of the environment has it, too")
    finished = process(python, "-c", "print('ran')", PYTHONPATH=run.BOOTSTRAP)
    assert finished.stdout == "ran\n"
    assert finished.stderr.startswith("lazyentity: it is not installed for ")
    assert finished.stderr.endswith(", where nothing is patched\n")


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is first, once; the variable for a profile is left as it was set."""
    monkeypatch.delenv(PROFILE, raising=False)
    monkeypatch.delenv(run.PATH, raising=False)
    assert run.environment(False)[run.PATH] == run.BOOTSTRAP
    assert PROFILE not in run.environment(False)
    assert run.environment(True)[PROFILE] == "1"
    monkeypatch.setenv(run.PATH, f"{run.BOOTSTRAP}{os.pathsep}other")
    monkeypatch.setenv(PROFILE, "out.json")
    assert run.environment(True)[run.PATH] == f"{run.BOOTSTRAP}{os.pathsep}other"
    assert run.environment(True)[PROFILE] == "out.json"


@pytest.mark.parametrize(
    ("original", "arguments", "options"),
    [
        (["python", "-X", "dev", "-m", "lazyentity", "run", "a"], ["run", "a"], ["-X", "dev"]),
        (["python", "-m", "lazyentity", "run", "a"], ["run", "a"], []),
        (["python", "/path/to/lazyentity/__main__.py", "run"], ["run"], []),
    ],
)
def test_options_of_the_interpreter(
    original: list[str], arguments: list[str], options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", original)
    monkeypatch.setattr(sys, "argv", ["__main__.py", *arguments])
    assert run.interpreter_options() == options


class TestMistakes:
    """Each is one sentence and an exit status."""

    @pytest.fixture(autouse=True)
    def _keep_signals(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(signal, "signal", lambda *_: None)

    def failure(self, *command: str) -> tuple[str, int]:
        with pytest.raises(Failure) as raised:
            run.start([*command], False)
        return str(raised.value), raised.value.status

    def test_no_command(self, tmp_path: Path) -> None:
        """Not found, or a script: not found, or not executable."""
        script = tmp_path / "app.py"
        script.write_text("")
        hint = "; to run a script, use `lazyentity-run python "
        for name, message, status in (
            ("gunicron", "there is no command 'gunicron'; check its name and PATH", 127),
            ("app.py", f"there is no command 'app.py'{hint}app.py`", 127),
            (str(script), f"cannot run {str(script)!r}: Permission denied{hint}{script}`", 126),
        ):
            assert self.failure(name) == (message, status)

    def test_a_backend_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LAZYENTITY_BACKEND", "naive")
        message, status = self.failure("true")
        assert "LAZYENTITY_BACKEND='naive' is not a backend" in message
        assert status == 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "there is nothing to run"),
            (["--profile"], "there is nothing to run"),
            (["-m"], "there is nothing to run"),
            (["--"], "there is nothing to run"),
            ([""], "there is nothing to run"),
            (["--profil", "app.py"], "unrecognized arguments: --profil"),
        ],
    )
    def test_usage(
        self, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit, match=r"^2$"):
            dispatch.main(["run", *arguments])
        assert capsys.readouterr().err.splitlines()[-1].endswith(f"error: {message}")


@pytest.mark.parametrize("option", ["-E", "-I"])
def test_an_interpreter_that_ignores_the_environment(option: str, tmp_path: Path) -> None:
    """The program would not be patched, and so does not run."""
    finished = process(sys.executable, option, "-m", "lazyentity", "run", "missing.py")
    assert finished.returncode == 2
    assert "-E, -I and -S" in finished.stderr
