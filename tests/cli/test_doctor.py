"""The doctor: its findings, its exit status, and that it changes nothing."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import wrapt
from google.cloud.datastore import batch, client, helpers, version
from google.protobuf.internal import api_implementation

import lazyentity
from lazyentity import _environment, patches
from lazyentity.cli import dispatch, doctor
from lazyentity.cli.run import BOOTSTRAP
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.imports import WhenImported
from tests.support import subprocesses
from tests.support.forks import answer

Patch = pytest.MonkeyPatch
DATASTORE = CLIENTS["datastore"]


@pytest.fixture(autouse=True)
def _nothing_is_set_and_nothing_patched(monkeypatch: Patch) -> Iterator[None]:
    """The doctor sees the environment and the patches of the test alone."""
    for name in [name for name in os.environ if name.startswith("LAZYENTITY_")]:
        if name != _environment.REQUEST:
            monkeypatch.delenv(name)
    monkeypatch.delenv(doctor.EMULATOR, raising=False)
    # Each warning is given once.
    monkeypatch.setattr(patches, "_told", set())
    assert lazyentity.patched() == ()
    yield
    lazyentity.unpatch()


def found(subject: str, *, has_application: bool = False) -> list[tuple[str, str, str]]:
    """Return the levels, texts and advice of the findings about a subject."""
    findings = doctor.examine(has_application)
    return [(one.level, one.text, one.advice) for one in findings if one.subject == subject]


FINDINGS = [
    doctor.Finding("a", "is well"),
    doctor.Finding("b", "is slow", "note", "hurry"),
    doctor.Finding("c", "is broken", "problem", "mend it"),
]


def test_text(monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each finding, and the advice below."""
    monkeypatch.setattr(doctor, "examine", lambda has_application: FINDINGS)
    assert dispatch.main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "ok      a: is well",
        "note    b: is slow",
        "        -> hurry",
        "PROBLEM c: is broken",
        "        -> mend it",
        "Problems: 1.",
    ]
    monkeypatch.setattr(doctor, "examine", lambda has_application: FINDINGS[:2])
    assert dispatch.main(["doctor"]) == 0
    assert capsys.readouterr().out.endswith("\nNo problem was found.\n")


def test_json(monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "examine", lambda has_application: FINDINGS)
    assert dispatch.main(["doctor", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["ok"], printed["lazyentity"]) == (False, lazyentity.__version__)
    wanted = {"subject": "b", "text": "is slow", "level": "note", "advice": "hurry"}
    assert printed["findings"][1] == wanted


@pytest.mark.parametrize("variable", ["LAZYENTITY_BACKEND", doctor.PROTOBUF])
def test_a_surrounding_that_is_wrong(variable: str) -> None:
    """A backend or protobuf that does not exist is a finding."""
    finished = subprocesses.run("-m", "lazyentity", "doctor", "--json", **{variable: "nonsense"})
    assert finished.returncode == 1, finished.stderr
    assert json.loads(finished.stdout)["ok"] is False


@pytest.mark.parametrize(
    ("source", "message", "status"),
    [
        ("print('from the application')", None, 0),
        ("import argparse\nargparse.ArgumentParser().parse_args()", None, 0),
        ("raise SystemExit(3)", "SystemExit: 3", 1),
        ("import lazyentity.missing", "No module named 'lazyentity.missing'", 1),
        ("raise RuntimeError('one\\ntwo')", "made_application.py:1: RuntimeError: one two", 1),
        (None, "ModuleNotFoundError: No module named 'made_application'", 1),
    ],
)
def test_an_application(
    source: str | None,
    message: str | None,
    status: int,
    tmp_path: Path,
    monkeypatch: Patch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is imported first, without the doctor's arguments; a mistake in it is one sentence."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["doctor", "--app", "made_application"])
    monkeypatch.delitem(sys.modules, "made_application", raising=False)
    monkeypatch.setattr(doctor, "examine", lambda has_application: FINDINGS[: 2 * has_application])
    if source is not None:
        (tmp_path / "made_application.py").write_text(source)
    assert dispatch.main(["doctor", "--app", "made_application:app"]) == status
    printed = capsys.readouterr()
    assert len(sys.argv) == 3
    if message is None:
        assert "b: is slow" in printed.out
        assert "application" not in printed.out
    else:
        assert printed.out == ""
        assert printed.err.endswith(f"{message}\n")


@pytest.mark.parametrize("name", ["", ".made", "setup.py"])
def test_no_module(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main(["doctor", "--app", name]) == 2
    assert "--app takes the name of a module" in capsys.readouterr().err


_CHANGES_NOTHING = """
import json, os, sys, warnings
ACTIVATE
import lazyentity
from lazyentity.cli import doctor

def state():
    modules = {name: module for name, module in list(sys.modules.items()) if module is not None}
    classes = {f"{name}.{attribute}": value for name, module in modules.items()
               if name.startswith(("google.cloud", "gcloud"))
               for attribute, value in list(vars(module).items()) if isinstance(value, type)}
    return {name: dict(vars(value)) for name, value in {**modules, **classes}.items()}, [
        dict(os.environ), list(sys.path), list(warnings.filters), list(sys.meta_path)]

def examine():
    return list(doctor.examine(has_application=bool("ACTIVATE")))

# The first time, clients are imported.
first, before, second, after = examine(), state(), examine(), state()
changed = [
    f"{holder}.{name}" for holder, names in before[0].items() if holder != "__main__"
    for name in names.keys() | after[0][holder].keys()
    if names.get(name) is not after[0][holder].get(name)]
print(json.dumps([changed, before[1] == after[1], first == second, list(lazyentity.patched())]))
"""


@pytest.mark.parametrize(
    "activation", ["", "import lazyentity.auto; from google.cloud import datastore"]
)
def test_it_changes_nothing(activation: str) -> None:
    """Neither where nothing is patched, nor where clients wait to be imported."""
    changed, are_others_same, is_same_again, patched = answer(
        "-c", _CHANGES_NOTHING.replace("ACTIVATE", activation)
    )
    assert (changed, are_others_same, is_same_again) == ([], True, True)
    assert ("datastore" in patched) == bool(activation)


# Versions and the backend.


def _installed(distribution: str, installed: str | None) -> Callable[[Patch], None]:
    """Pretend that another version is installed, or none."""
    real = metadata.version

    def version_of(name: str) -> str:
        if name == distribution and installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed or "" if name == distribution else real(name)

    return lambda patch: patch.setattr(metadata, "version", version_of)


def _setting(name: str, value: str) -> Callable[[Patch], None]:
    return lambda patch: patch.setenv(name, value)


SURROUNDINGS: list[tuple[Callable[[Patch], None], str, str, str]] = [
    (lambda patch: None, "Python", "ok", "(supported: 3."),
    (lambda patch: patch.setattr(doctor, "PYTHONS", ("3.99",)), "Python", "note", "not tested"),
    (lambda patch: patch.setattr(platform, "python_implementation", str), "Python", "note", ""),
    (_installed("wrapt", None), "requirements", "ok", "wrapt is missing"),
    (_installed("orjson", "99.0"), "orjson", "note", "lazyentity.materialize(entity)"),
    (_setting(_environment.REQUEST, "pure"), "backend", "note", "LAZYENTITY_BACKEND=pure requests"),
    (_setting(_environment.REQUEST, "naive"), "backend", "problem", "'naive' is not a backend"),
    (
        lambda patch: patch.setattr(api_implementation, "Type", lambda: "python"),
        *("protobuf", "note", "slow"),
    ),
    (_setting("LAZYENTITY_DISABLE", "1"), "LAZYENTITY_DISABLE", "note", "does nothing"),
    (_setting("LAZYENTITY_ADAPTERS", "0"), "LAZYENTITY_ADAPTERS", "note", "unset"),
    (_setting("LAZYENTITY_DISBALE", "1"), "LAZYENTITY_DISBALE", "note", "LAZYENTITY_DISABLE?"),
    (_setting("LAZYENTITY_XYZZY_PLUGH", "1"), "LAZYENTITY_XYZZY_PLUGH", "note", "known are"),
    # The client takes it for the address of an emulator.
    (_setting(doctor.EMULATOR, ""), doctor.EMULATOR, "note", "unset"),
    (_setting(doctor.EMULATOR, "host:1"), doctor.EMULATOR, "ok", "clients read from host:1"),
    (_setting("PYTHONPATH", BOOTSTRAP), "PYTHONPATH", "ok", "by lazyentity-run"),
]


@pytest.mark.parametrize(("arrange", "subject", "level", "text"), SURROUNDINGS)
def test_a_surrounding(
    monkeypatch: Patch, arrange: Callable[[Patch], None], subject: str, level: str, text: str
) -> None:
    arrange(monkeypatch)
    told = [one for one in doctor.examine(False) if one.subject == subject]
    assert level in [one.level for one in told]
    assert text in " ".join(f"{one.text} {one.advice}" for one in told)


@pytest.mark.parametrize(("requested", "level"), [("", "note"), ("native", "problem")])
def test_a_native_backend_that_is_not_built(requested: str, level: str, monkeypatch: Patch) -> None:
    monkeypatch.setenv(_environment.REQUEST, requested)
    missing = _environment.Obstacle("there is no module", "build it")
    monkeypatch.setattr(doctor, "obstacle", lambda: missing)
    ((told, text, advice),) = found("backend")
    assert (told, "there is no module" in text) == (level, True)
    assert advice.startswith("build it")


def test_a_client_that_cannot_be_imported(monkeypatch: Patch) -> None:
    monkeypatch.setattr(doctor, "obstacle", lambda: None)
    real = importlib.import_module

    def import_module(name: str) -> ModuleType:
        if name == "google.cloud.datastore":
            raise ValueError("it is broken")
        return real(name)

    monkeypatch.setattr(importlib, "import_module", import_module)
    ((level, text, _),) = found("backend")
    assert (level, "ValueError: it is broken" in text) == ("problem", True)


# The clients.


def _described(state: str) -> str:
    return (
        f"google-cloud-datastore {version.__version__} (supported: {DATASTORE.supported}): {state}"
    )


def _others() -> list[tuple[str, str]]:
    """Return the levels and texts of all but the first finding."""
    return [(level, text) for level, text, _ in found("datastore")[1:]]


def _tracing(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


def test_a_client() -> None:
    names = f"{len(DATASTORE.patch.seams)} names"
    assert found("datastore") == [("ok", _described(f"patch() would replace {names}"), "")]
    lazyentity.patch("datastore")
    assert found("datastore") == [("ok", _described(f"{names} are patched, lazy"), "")]
    lazyentity.patch("datastore", eager=True)
    assert found("datastore") == [("ok", _described(f"{names} are patched, eager"), "")]


def test_an_application_that_did_not_patch(monkeypatch: Patch) -> None:
    """It is a problem, unless somebody switched lazyentity off."""
    ((level, text, advice),) = found("datastore", has_application=True)
    assert (level, "stays stock" in text) == ("problem", True)
    assert "import lazyentity.auto" in advice
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    assert found("datastore", has_application=True)[0][0] == "ok"


def test_a_client_that_is_not_installed(monkeypatch: Patch) -> None:
    monkeypatch.setattr(WhenImported, "is_installed", lambda _: False)
    assert found("datastore") == []


def test_a_client_that_cannot_be_patched(monkeypatch: Patch) -> None:
    with monkeypatch.context() as patching:
        patching.setattr(version, "__version__", "1.0")
        ((level, text, advice),) = found("datastore")
    assert (level, "google-cloud-datastore 1.0 is not supported" in text) == ("problem", True)
    assert advice == f"pip install 'google-cloud-datastore{DATASTORE.supported}'"
    monkeypatch.delattr(batch, "_assign_entity_to_pb")
    ((level, text, _),) = found("datastore")
    assert (level, "_assign_entity_to_pb" in text) == ("problem", True)


def test_a_tracer(monkeypatch: Patch) -> None:
    """Around a method that nothing goes past, before patch() and after it."""
    place, who = "google.cloud.datastore.client.Client.get_multi", f"{__name__}._tracing"
    with monkeypatch.context() as patching:
        wrapper = wrapt.FunctionWrapper(client.Client.get_multi, _tracing)
        patching.setattr(client.Client, "get_multi", wrapper)
        assert _others() == [("note", f"{place} was replaced by {who}")]
    lazyentity.patch("datastore")
    wrapper = wrapt.FunctionWrapper(client.Client.get_multi, _tracing)
    monkeypatch.setattr(client.Client, "get_multi", wrapper)
    assert _others() == [("note", f"{place} is wrapped by {who}")]


@pytest.mark.parametrize("is_patched", [False, True])
def test_a_mock(is_patched: bool) -> None:
    """Of a name that the client's guard has."""
    if is_patched:
        lazyentity.patch("datastore")
    name = "google.cloud.datastore.client.Client._datastore_api"
    text = f"{name} was replaced by unittest.mock.PropertyMock; calls that need it are not lazy"
    with mock.patch.object(client.Client, "_datastore_api", new_callable=mock.PropertyMock):
        assert _others() == [("problem", text)]
    assert _others() == []


def test_old_references(monkeypatch: Patch) -> None:
    """A module that imported the conversion before patch()."""
    module = ModuleType("made_early")
    vars(module)["convert"] = helpers.entity_from_protobuf
    monkeypatch.setitem(sys.modules, "made_early", module)
    lazyentity.patch("datastore")
    assert "made_early imported google.cloud.datastore.helpers.entity_from_protobuf by name" in (
        " ".join(text for _, text, _ in found("old references"))
    )
