"""The steps of CI, and the supported Pythons: one list has them, wherever they are named."""

from __future__ import annotations

import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from lazyentity._version import PYTHONS
from tools import ci
from tools.ci import NEWEST, OLDEST, Interpreter, interpreter, interpreters
from tools.steps import Runner, Step

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
_WAITING = "import time; print('begun', flush=True); time.sleep(600)"
_RANGE = f"{OLDEST} to {NEWEST}"
_TAGS = [f"cp{version.replace('.', '')}" for version in PYTHONS]
_WHEELS = " ".join(f"{tag}-*" for tag in _TAGS)
_QUOTED = ", ".join(f'"{version}"' for version in PYTHONS)


def _read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def test_the_list() -> None:
    """It is in order, without a gap."""
    minors = [int(version.removeprefix("3.")) for version in PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert ci.PYTHONS == PYTHONS


def test_the_metadata() -> None:
    declared = metadata.metadata("lazyentity")
    classifiers = declared.get_all("Classifier") or []
    prefix = "Programming Language :: Python :: 3."
    named = [one.removeprefix(prefix[:-2]) for one in classifiers if one.startswith(prefix)]
    assert named == list(PYTHONS)
    assert declared["Requires-Python"] == f">={OLDEST}"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("README.rst", f"CPython {_RANGE}."),
        ("docs/start/quickstart.rst", f"CPython {_RANGE} "),
        ("docs/clients/versions.rst", f"CPython {_RANGE} "),
        ("docs/command-line.rst", f"(supported: {_RANGE})"),
        ("CONTRIBUTING.rst", f"Python {OLDEST} or newer"),
        ("Makefile", f"sys.version_info < (3, {OLDEST.removeprefix('3.')})"),
        ("Makefile", f"lazyentity needs Python {OLDEST} or newer"),
        ("pyproject.toml", f'target-version = "py{_TAGS[0].removeprefix("cp")}"'),
        ("pyproject.toml", f'build = "{_WHEELS}"'),
        (".github/workflows/ci.yml", f"python: [{_QUOTED}]"),
        (".github/workflows/ci.yml", f"Python/3.1[{OLDEST[-1]}-{NEWEST[-1]}].*/"),
    ],
)
def test_texts(page: str, text: str) -> None:
    assert text in _read(page)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows(path: Path) -> None:
    """They run no Python that is not supported."""
    named = re.findall(r"python(?:-version)?: \"(3\.\d+)\"", path.read_text("utf-8"))
    assert set(named) <= set(PYTHONS)


def _executable(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(stat.S_IRWXU)
    return str(path)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Python, and without the tool for newer ones."""
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(ci, "NEWER_PYTHON", tmp_path / "newer-python")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return tmp_path


def test_interpreters(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyenv comes first, with its newest patch release; the newest Python may be elsewhere."""
    assert {interpreter(version) for version in PYTHONS} == {None}
    newer = _executable(machine / "newer-python")
    found = interpreter(NEWEST)
    assert found is not None
    assert found.executable == f"python{NEWEST}"
    assert found.inside[:2] == (newer, str(ci.ROOT))
    assert interpreter(OLDEST) is None
    with monkeypatch.context() as patched:
        patched.setattr("os.geteuid", lambda: 1000)
        assert interpreter(NEWEST) is None
    on_the_path = _executable(machine / f"bin/python{NEWEST}")
    assert interpreter(NEWEST) == Interpreter(on_the_path, NEWEST)
    for patch in ("9", "10", "11-dev"):
        _executable(machine / f"pyenv/versions/{NEWEST}.{patch}/bin/python")
    found = interpreter(NEWEST)
    assert found is not None
    assert found.executable.endswith(f"{NEWEST}.10/bin/python")


def test_the_newest_python_is_missing(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others may be missing: the current one stands for them."""
    monkeypatch.setattr(ci, "CURRENT", OLDEST)
    with pytest.raises(SystemExit, match=f"Python {NEWEST} is missing: .*{machine}/newer-python"):
        interpreters()
    on_the_path = Interpreter(_executable(machine / f"bin/python{NEWEST}"), NEWEST)
    assert interpreters() == {NEWEST: on_the_path}
    monkeypatch.setattr(ci, "CURRENT", NEWEST)
    assert interpreters() == {}


@pytest.mark.parametrize("inside", [(), ("newer-python", "root")], ids=["here", "inside"])
def test_the_newest_python(inside: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment, its tests and its wheel are made where the interpreter is."""
    monkeypatch.chdir(ROOT)
    steps = ci.steps({NEWEST: Interpreter("the-newest", NEWEST, inside)})
    names = [step.name for step in steps]
    assert len(set(names)) == len(names)
    assert {needed for step in steps for needed in step.needs} <= set(names)
    made = [step for step in steps if "PYTHON=the-newest" in step.command]
    assert {tuple(step.command[: len(inside) + 1]) for step in made} == {(*inside, "make")}
    assert {f"VENV=.venv-{NEWEST}" in step.command for step in made} == {True}
    dist, tests = (step.command[len(inside) + 2 :] for step in made)
    assert (dist[0], tests[0]) == ("dist", "test")
    (selected,) = (argument for argument in tests if argument.startswith("TESTS="))
    assert "--in-turn native" in selected


def test_the_list_of_steps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every target of a step is in the Makefile, and every file that a step tests is there."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["ci", "--list"])
    ci.main()
    printed = capsys.readouterr().out
    steps = ci.steps(interpreters())
    assert [line.removesuffix(":") for line in printed.splitlines()[::2]] == [
        step.name for step in steps
    ]
    commands = [shlex.split(line) for line in printed.splitlines()[1::2]]
    assert commands == [list(step.command) for step in steps]
    targets = {command[command.index("make") + 2] for command in commands if "make" in command}
    makefile = _read("Makefile")
    assert targets == {"bench", "test", "dist", "docs", "fuzz"}
    assert targets <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    parts = {argument for command in commands for argument in command if argument[:5] == "WHAT="}
    words = set(re.findall(r"^#: +([a-z ]+)$|^#:   ([a-z]+) ", makefile, re.MULTILINE))
    known = {word for group in words for text in group for word in text.split()}
    assert {part.removeprefix("WHAT=") for part in parts} <= known
    selected = [each[6:] for command in commands for each in command if each[:6] == "TESTS="]
    paths = {each for each in shlex.split(" ".join(selected)) if each.startswith("tests/")}
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_tool_for_newer_pythons(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The command's arguments and its status come through; SIGTERM ends it."""
    tool = machine / "newer-python"
    tool.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    tool.chmod(stat.S_IRWXU)
    found = interpreter(NEWEST)
    assert found is not None
    failing = [*found.inside, "/bin/sh", "-c", 'echo "$@"; exit 3', "sh", "a b", "$c"]
    assert subprocess.run(failing, env={"PATH": "/bin:/usr/bin"}, check=False).returncode == 3
    assert capfd.readouterr().out == "a b $c\n"
    waiting = [*found.inside, sys.executable, "-c", _WAITING]
    with subprocess.Popen(
        waiting, stdout=subprocess.PIPE, env={"PATH": "/bin:/usr/bin"}, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        # The first process alone: the kernel stops the others of its namespace.
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
        os.killpg(process.pid, signal.SIGKILL)


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_step_waits_for_those_it_needs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also when it comes first; the output of each step is printed whole."""
    made = tmp_path / "made"
    runner = Runner(2)
    runner.run(
        [
            Step("second", python(f"print(open({str(made)!r}).read())"), needs=("first",)),
            Step("first", python(f"open({str(made)!r}, 'w').write('from first')")),
            Step("third", python("print('third')"), cores=9),
            Step("beside", python("import os; print(os.nice(0))"), cores=0),
        ]
    )
    printed = capfd.readouterr().out
    assert re.search(r"=== second: passed in \d+ s\nfrom first\n", printed)
    table = runner.summary().splitlines()
    assert {line.split()[-1] for line in table} == {
        *("step", "first", "second", "third", "beside", "all")
    }


def test_a_failure_stops_everything(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Running steps are stopped, children included; no other begins; the failure is named."""
    late = tmp_path / "late"
    patient = f"sleep 60; touch {late}"
    runner = Runner(2)
    with pytest.raises(SystemExit, match="wrong: FAILED with status 3"):
        runner.run(
            [
                Step("patient", ["sh", "-c", patient]),
                Step("wrong", python("print('the reason'); raise SystemExit(3)")),
                Step("never", python(f"open({str(late)!r}, 'w')")),
            ]
        )
    printed = capfd.readouterr().out
    assert "=== wrong: FAILED with status 3" in printed
    assert "the reason" in printed
    assert "began: never" not in printed
    assert not late.exists()


def test_a_need_that_is_no_step() -> None:
    """A misspelt need does not pass unnoticed."""
    with pytest.raises(SystemExit, match="these steps need missing steps: lonely"):
        Runner(1).run([Step("lonely", python(""), needs=("nosuch",))])


def test_a_step_that_wants_every_core_runs_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """It waits until the others have ended. Those after it do not wait for it."""
    Runner(2).run(
        [Step("before", python("")), Step("alone", python(""), cores=9), Step("after", python(""))]
    )
    lines = [line for line in capfd.readouterr().out.splitlines() if line[:3] in {"---", "==="}]
    assert lines[-2].endswith("began: alone")
    assert lines[-1].startswith("=== alone: passed")


def test_few_steps_run_beside_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    """They do not wait for the cores, which another step has, but for each other."""
    beside = [Step(name, python("input()"), cores=0) for name in ("first", "second")]
    with pytest.raises(SystemExit, match="first: FAILED"):
        Runner(1, beside=1).run([Step("alone", ["sleep", "60"]), *beside])
    printed = capfd.readouterr().out
    assert "began: first" in printed
    assert "began: second" not in printed
