"""The command: its report, its exit status, and that it changes nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

import lazyentity
from lazyentity.cli import dispatch
from lazyentity.cli.doctor import backends, clients, command, report, variables, versions
from lazyentity.cli.doctor.findings import Finding
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.imports import WhenImported
from lazyentity.patches.spec import ClientSpec
from tests.support import subprocesses
from tests.support.forks import answer

SECTIONS = {
    "One": [
        Finding("d", "1.0 (supported: >=1)", brief="d 1.0", group="parts"),
        Finding("a", "is well", details=("x.y:Z.a", "x.b:c")),
        Finding("e", "2.0 (supported: >=2)", brief="e 2.0", group="parts"),
        Finding("f", "has a library, pydantic 2.14", brief="has 1 library"),
        Finding("b", "is slow", "note", "hurry"),
    ],
    "Two": [Finding("c", "is broken", "problem", "mend it", ("l.m:f",))],
}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Finding]]:
    """What the doctor finds, which the test changes."""
    sections = {title: list(found) for title, found in SECTIONS.items()}
    monkeypatch.setattr(report, "examine", lambda has_application: sections)
    return sections


_SHORT = [
    "  ok      a: is well",
    "  ok      parts: d 1.0, e 2.0",
    "  ok      f: has 1 library",
]
_VERBOSE = [
    "  ok      d: 1.0 (supported: >=1)",
    "  ok      a: is well",
    "            y.Z.a, b.c",
    "  ok      e: 2.0 (supported: >=2)",
    "  ok      f: has a library, pydantic 2.14",
]
_MORE = " --verbose tells the names and supported versions."


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("options", "well", "more"),
    [([], _SHORT, _MORE), (["-v"], _VERBOSE, ""), (["--verbose"], _VERBOSE, "")],
    ids=["short", "-v", "--verbose"],
)
def test_text(
    options: list[str], well: list[str], more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Problems and notes are told whole, with an advice below; the rest takes a line or less.

    Verbosely, each finding has its level, and its names.
    """
    assert dispatch.main(["doctor", *options]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "One",
        *well,
        "  note    b: is slow",
        "          -> hurry",
        "",
        "Two",
        "  PROBLEM c: is broken",
        "            m.f",
        "          -> mend it",
        "",
        f"1 problem: its line says what to do.{more}",
    ]


def test_one_screen() -> None:
    """Where all is well, at the size of a terminal, and with the clients that are installed."""
    program = (
        "import json\n"
        "from lazyentity.cli.doctor import report\n"
        "sections = report.examine(has_application=False)\n"
        "sections = {title: [one for one in found if one.level == 'ok']\n"
        "            for title, found in sections.items()}\n"
        "print(json.dumps(report.as_text(sections, 80, verbose=False).splitlines()))\n"
    )
    lines: list[str] = answer("-c", program)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_one_screen_with_every_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than one environment can have."""
    monkeypatch.setattr(WhenImported, "is_installed", lambda _: True)
    monkeypatch.setattr(clients, "_problem", lambda *_: None)
    monkeypatch.setattr(ClientSpec, "version", lambda _: "9.2.2")
    sections = {
        "Versions": list(versions.findings()),
        "Backend": list(backends.findings(may_import=False)),
        "Clients": list(clients.findings(may=False, used=())),
        "Environment": list(variables.findings()),
    }
    told = {t: [one for one in found if one.level == "ok"] for t, found in sections.items()}
    assert len(told["Clients"]) >= len(CLIENTS)
    assert len(report.as_text(told, 80, verbose=False).splitlines()) <= 24


def test_notes_are_no_problems(
    found: dict[str, list[Finding]], capsys: pytest.CaptureFixture[str]
) -> None:
    del found["Two"]
    assert dispatch.main(["doctor"]) == 0
    end = "\nNo problem was found. --verbose tells the names and supported versions.\n"
    assert capsys.readouterr().out.endswith(end)


@pytest.mark.usefixtures("found")
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main(["doctor", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["ok"] is False
    assert printed["lazyentity"] == lazyentity.__version__
    assert printed["application"] is None
    assert printed["findings"][1] == {
        "section": "One",
        "subject": "a",
        "level": "ok",
        "text": "is well",
        "advice": "",
        "details": ["x.y:Z.a", "x.b:c"],
    }


WRONG_ARGUMENTS = {
    "unknown": ["--no-such", "--json"],
    "abbreviated": ["--js", "--json"],
    "without a value": ["--json", "--app"],
    "beside": ["--json", "beside"],
}


@pytest.mark.parametrize("arguments", WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_json_of_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main(["doctor", *arguments]) == 2
    printed = capsys.readouterr()
    assert_only_finding(printed.out, printed.err, None)
    with pytest.raises(SystemExit) as ended:
        dispatch.main(["doctor", "--no-such"])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: ")


def assert_only_finding(printed: str, told: str, application: str | None) -> None:
    """Check a report as JSON whose only finding is the sentence on standard error."""
    made = json.loads(printed)
    assert made["lazyentity"] == lazyentity.__version__
    assert (made["ok"], made["application"]) == (False, application)
    (finding,) = made["findings"]
    assert (finding["level"], finding["section"]) == ("problem", "Doctor")
    assert told == f"python -m lazyentity doctor: {finding['text']}\n"


def test_help_is_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        dispatch.main(["doctor", "--json", "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [ValueError("broken"), _Unspeakable(), KeyboardInterrupt()])
def test_json_of_an_error_of_the_doctor(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(has_application: bool) -> NoReturn:
        raise error

    monkeypatch.setattr(report, "examine", fail)
    with pytest.raises(type(error)) as raised:
        command.main(["--json"], "doctor")
    assert raised.value is error
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert type(error).__name__ in finding["text"]


@pytest.mark.parametrize(
    "variable", ["LAZYENTITY_BACKEND", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"]
)
def test_json_of_a_surrounding_that_is_wrong(variable: str) -> None:
    """A backend or protobuf that does not exist is a finding, if not the report of a failure."""
    finished = subprocesses.run("-m", "lazyentity", "doctor", "--json", **{variable: "nonsense"})
    assert finished.returncode == 1, finished.stderr
    assert json.loads(finished.stdout)["ok"] is False


class TestApplication:
    """It is imported first, and a mistake in it is one sentence."""

    @pytest.fixture(autouse=True)
    def _application(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, list[Finding]]
    ) -> None:
        del found["Two"]
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "made_application.py").write_text("print('from the application')\n")
        (tmp_path / "made_end.py").write_text("raise SystemExit(3)\n")
        (tmp_path / "made_mistake.py").write_text("import lazyentity.missing\n")
        (tmp_path / "made_lines.py").write_text("raise RuntimeError('one\\ntwo')\n")
        (tmp_path / "made_exit.py").write_text(
            "class Exit(BaseException):\n    pass\n\n\nraise Exit\n"
        )
        (tmp_path / "made_silent.py").write_text(
            "class Silent(Exception):\n    def __str__(self): raise KeyError\n\nraise Silent\n"
        )
        (tmp_path / "made_parser.py").write_text(
            "import argparse\n\nargparse.ArgumentParser().parse_args()\n"
        )

    @pytest.mark.parametrize("name", ["made_application", "made_application:app"])
    def test_its_output_is_not_that_of_the_doctor(
        self, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delitem(sys.modules, "made_application", raising=False)
        assert dispatch.main(["doctor", "--json", "--app", name]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)["application"] == name
        assert printed.err == "from the application\n"

    @pytest.mark.parametrize(
        ("name", "message", "status"),
        [
            ("made_typo", "ModuleNotFoundError: No module named 'made_typo'", 1),
            ("made_end", "SystemExit: 3", 1),
            ("made_mistake", "ModuleNotFoundError: No module named 'lazyentity.missing'", 1),
            ("made_lines", "made_lines.py:1: RuntimeError: one two", 1),
            ("made_exit", "made_exit.py:5: Exit", 1),
            ("made_silent", "Silent: <made_silent.Silent whose text raised KeyError>", 1),
            ("", "takes the name of a module, as package.module; '' is none", 2),
            (".made", "takes the name of a module, as package.module; '.made' is none", 2),
            ("made_end.py", "takes the name of a module, not a file: --app made_end", 2),
        ],
    )
    def test_mistakes(
        self, name: str, message: str, status: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert dispatch.main(["doctor", "--app", name]) == status
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("python -m lazyentity doctor: ")
        assert printed.err.endswith(f"{message}\n")
        assert printed.err.count("\n") == 1
        assert dispatch.main(["doctor", "--json", "--app", name]) == status
        again = capsys.readouterr()
        assert again.err == printed.err
        assert_only_finding(again.out, again.err, name)

    def test_it_sees_no_arguments_of_the_doctor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An application may parse its own when it is imported."""
        monkeypatch.setattr(sys, "argv", ["doctor", "--app", "made_parser"])
        monkeypatch.delitem(sys.modules, "made_parser", raising=False)
        assert dispatch.main(["doctor", "--app", "made_parser"]) == 0
        assert sys.argv == ["doctor", "--app", "made_parser"]


# Attributes of modules and of the clients' classes, and other state, before and after.
_CHANGES_NOTHING = """
import json, os, sys, warnings
ACTIVATE
import lazyentity
from lazyentity.cli.doctor import report

def state(of):
    modules = {name: module for name, module in list(sys.modules.items())
               if module is not None and name.startswith(of) and name != "__main__"}
    classes = {
        f"{name}.{attribute}": value
        for name, module in modules.items() if name.startswith("google.")
        for attribute, value in list(vars(module).items())
        if isinstance(value, type) and value.__module__.startswith(of)
    }
    return {name: dict(vars(value)) for name, value in {**modules, **classes}.items()
            if hasattr(value, "__dict__")}

def others():
    return dict(os.environ), list(sys.path), list(warnings.filters), list(sys.meta_path)

def examine():
    return report.examine(has_application=bool("ACTIVATE"))

def changed(before, after):
    return [
        f"{holder}.{name}"
        for holder, names in before.items()
        for name in names.keys() | after[holder].keys()
        if names.get(name) is not after[holder].get(name)
        # Importing is no change: a module is new, and an attribute of its package.
        and f"{holder}.{name}" not in sys.modules and not name.startswith("__")
    ]

# Importing a client changes other modules, and so all are compared when everything is imported.
clients = "google.cloud.", "google.appengine.", "gcloud."
before = state(clients)
first = examine()
changed_of_clients = changed(before, state(clients))
before = state(""), others()
second = examine()
print(json.dumps({
    "of clients": changed_of_clients,
    "of all": changed(before[0], state("")),
    "others": before[1] == others(),
    "patched": list(lazyentity.patched()),
    "same again": first == second,
    "levels": {one.subject: one.level for one in first["Clients"]},
}))
"""


@pytest.mark.parametrize(
    "activation", ["", "import lazyentity.auto; from google.cloud import datastore"]
)
def test_it_changes_nothing(activation: str) -> None:
    """Neither where nothing is patched, nor where clients wait to be imported."""
    state: dict[str, Any] = answer("-c", _CHANGES_NOTHING.replace("ACTIVATE", activation))
    assert state["of clients"] == []
    assert state["of all"] == []
    assert state["others"]
    assert state["same again"]
    assert ("datastore" in state["patched"]) == bool(activation)
    assert state["levels"]["datastore"] == "ok"
