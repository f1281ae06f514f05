"""Versions, the backend, protobuf, and the environment."""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from google.protobuf.internal import api_implementation

import lazyentity.native
from lazyentity import _choice
from lazyentity.cli.doctor import backends, variables, versions
from lazyentity.cli.doctor.findings import Finding
from lazyentity.cli.run import BOOTSTRAP

pytestmark = pytest.mark.any_backend

Patch = pytest.MonkeyPatch
FIRST, SECOND = _choice.NATIVE_MODULES[:2]
_OTHER_PYTHON = "index.cpython-27-x86_64-linux-gnu.so"


def of(subject: str, found: Iterable[Finding]) -> Finding:
    (one,) = (one for one in found if one.subject == subject)
    return one


def check(finding: Finding, level: str, text: str, advice: str = "") -> None:
    """Check what a finding says, by a part of it, or by the whole if it begins with ``=``."""
    assert finding.level == level
    for expected, found in ((text, finding.text), (advice, finding.advice)):
        assert found == expected[1:] if expected.startswith("=") else expected in found


def _setting(name: str, value: str) -> Callable[[Patch], None]:
    return lambda patch: patch.setenv(name, value)


def _installed(distribution: str, version: str | None) -> Callable[[Patch], None]:
    """Pretend that another version is installed, or none."""
    real = metadata.version

    def version_of(name: str) -> str:
        if name != distribution:
            return real(name)
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    return lambda patch: patch.setattr(metadata, "version", version_of)


def test_versions_here() -> None:
    """The tests run where everything is supported."""
    found = list(versions.findings())
    subjects = {one.subject for one in found}
    assert {"Python", "lazyentity", "protobuf", "proto-plus", "wrapt"} <= subjects
    assert "problem" not in {one.level for one in found}


@pytest.mark.parametrize(
    ("arrange", "subject", "level", "text", "advice"),
    [
        (lambda patch: patch.setattr(versions, "PYTHONS", ("3.9",)), "Python", "note", "", ""),
        (lambda patch: patch.setattr(versions, "PYTHONS", ("3.99",)), "Python", "note", "", ""),
        (
            lambda patch: patch.setattr(platform, "python_implementation", lambda: "PyPy"),
            *("Python", "note", "PyPy 3.", ""),
        ),
        (
            lambda patch: patch.setattr(sys, "version", f"{sys.version} free-threading build"),
            *("Python", "note", "free-threaded", ""),
        ),
        (
            _installed("wrapt", "1.16.0"),
            *("wrapt", "problem", "=1.16.0 is not supported (supported: >=2)"),
            "=pip install 'wrapt>=2'",
        ),
        (_installed("wrapt", None), "wrapt", "problem", "=is not installed", ""),
        (_installed("orjson", "99.0"), "orjson", "note", "", "lazyentity.materialize(entity)"),
    ],
)
def test_other_versions(
    monkeypatch: Patch,
    arrange: Callable[[Patch], None],
    subject: str,
    level: str,
    text: str,
    advice: str,
) -> None:
    arrange(monkeypatch)
    check(of(subject, versions.findings()), level, text, advice)


def test_an_untested_library_that_is_not_adapted(monkeypatch: Patch) -> None:
    _installed("orjson", "99.0")(monkeypatch)
    monkeypatch.setenv("LAZYENTITY_ADAPTERS", "0")
    assert "orjson" not in {one.subject for one in versions.findings()}


def test_not_installed(monkeypatch: Patch) -> None:
    """As in a folder that somebody copied."""
    missing = mock.Mock(side_effect=metadata.PackageNotFoundError)
    monkeypatch.setattr(metadata, "requires", missing)
    assert "but not installed" in list(versions.findings())[2].text


def _backend() -> Finding:
    return of("backend", backends.findings(True))


def test_a_client_that_cannot_be_imported(monkeypatch: Patch) -> None:
    """For one, if protobuf refuses its variable."""

    def import_module(_: str) -> Any:
        raise ValueError("it is not supported")

    monkeypatch.delenv(_choice.REQUEST, raising=False)
    # Not any longer: unpatching imports, too.
    with monkeypatch.context() as patched:
        patched.setattr(importlib, "import_module", import_module)
        finding = _backend()
    check(finding, "problem", " raises ValueError: it is not supported")


@pytest.mark.parametrize(
    ("file", "requested", "level", "text", "advice"),
    [
        (
            *(None, "", "note"),
            f"=pure, the slower one: the native backend was not built, there is no module {FIRST}",
            f"={_choice.BUILD_IT}",
        ),
        (_OTHER_PYTHON, "", "note", f"was built for another Python ({_OTHER_PYTHON})", ""),
        (
            f"{FIRST.rpartition('.')[2]}{EXTENSION_SUFFIXES[0]}",
            *("", "note", f"there is no module {SECOND}", ""),
        ),
        (
            *(None, "native", "problem", "LAZYENTITY_BACKEND=native cannot be met: the native"),
            ", or unset LAZYENTITY_BACKEND",
        ),
    ],
    ids=["not built", "for another Python", "in part", "requested"],
)
def test_a_native_backend_that_is_not_built(
    tmp_path: Path,
    monkeypatch: Patch,
    file: str | None,
    requested: str,
    level: str,
    text: str,
    advice: str,
) -> None:
    monkeypatch.setenv(_choice.REQUEST, requested)
    monkeypatch.setattr(lazyentity.native, "__path__", [str(tmp_path)])
    for name in _choice.NATIVE_MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    if file is not None:
        (tmp_path / file).touch()
    check(_backend(), level, text, advice)


@pytest.mark.parametrize(("requested", "level"), [("", "note"), ("native", "problem")])
def test_built_but_broken(requested: str, level: str, monkeypatch: Patch) -> None:
    monkeypatch.setenv(_choice.REQUEST, requested)
    monkeypatch.setattr(backends, "obstacle", lambda: None)
    monkeypatch.setattr(backends, "_built_for_another", str)
    monkeypatch.setitem(sys.modules, "lazyentity.native.backend", None)
    check(_backend(), level, "lazyentity.native.backend")


@pytest.mark.parametrize(
    ("requested", "level", "text", "advice"),
    [
        (
            *("pure", "note", "LAZYENTITY_BACKEND=pure requests the pure backend"),
            "=unset the variable",
        ),
        ("naive", "problem", "'naive' is not a backend", ""),
    ],
)
def test_a_requested_backend(
    requested: str, level: str, text: str, advice: str, monkeypatch: Patch
) -> None:
    monkeypatch.setenv(_choice.REQUEST, requested)
    check(_backend(), level, text, advice)


@pytest.mark.parametrize(
    ("value", "advice"), [("python", f"unset {backends.PROTOBUF}"), (None, "install a wheel")]
)
def test_protobuf_in_python(value: str | None, advice: str, monkeypatch: Patch) -> None:
    monkeypatch.delenv(backends.PROTOBUF, raising=False)
    if value is not None:
        monkeypatch.setenv(backends.PROTOBUF, value)
    monkeypatch.setattr(api_implementation, "Type", lambda: "python")
    check(of("protobuf", backends.findings(False)), "note", "", advice)


def test_protobuf_that_cannot_be_imported(monkeypatch: Patch) -> None:
    """It refuses other values of its variable."""
    monkeypatch.setenv(backends.PROTOBUF, "fast")
    monkeypatch.delattr("google.protobuf.internal.api_implementation")
    monkeypatch.setitem(sys.modules, "google.protobuf.internal.api_implementation", None)
    finding = of("protobuf", backends.findings(False))
    assert (finding.level, finding.advice) == ("problem", f"unset {backends.PROTOBUF}")


@pytest.mark.parametrize(
    ("name", "value", "level", "text", "advice"),
    [
        ("LAZYENTITY_DISABLE", "1", "note", "", "unset LAZYENTITY_DISABLE"),
        ("LAZYENTITY_EAGER", "yes", "note", "", "unset LAZYENTITY_EAGER"),
        ("LAZYENTITY_ADAPTERS", "0", "note", "", "unset LAZYENTITY_ADAPTERS"),
        ("LAZYENTITY_PROFILE", "out.json", "note", "", "unset LAZYENTITY_PROFILE"),
        (_choice.REQUEST, "pure", "ok", "=requires the backend 'pure'", ""),
        ("LAZYENTITY_DISBALE", "1", "note", "", "LAZYENTITY_DISABLE?"),
        ("LAZYENTITY_XYZZY_PLUGH", "1", "note", "", "known are LAZYENTITY_ADAPTERS, "),
        # The client takes it for the address of an emulator.
        ("DATASTORE_EMULATOR_HOST", "", "note", "", "=unset DATASTORE_EMULATOR_HOST"),
        ("DATASTORE_EMULATOR_HOST", "host:1", "ok", "=clients read from host:1", ""),
        ("PYTHONPATH", BOOTSTRAP, "ok", "by lazyentity-run", ""),
    ],
)
def test_a_variable(
    name: str, value: str, level: str, text: str, advice: str, monkeypatch: Patch
) -> None:
    monkeypatch.delenv(_choice.REQUEST, raising=False)
    monkeypatch.setenv(name, value)
    found = list(variables.findings())
    check(of(name, found), level, text, advice)
    assert len(found) == 1 or not name.startswith("LAZYENTITY_")


# A profiled program has one more, of lazyentity itself.
@pytest.mark.parametrize("name", [None, "LAZYENTITY_PROFILE_PROCESS"])
def test_no_variable(name: str | None, monkeypatch: Patch) -> None:
    monkeypatch.delenv(_choice.REQUEST, raising=False)
    if name is not None:
        monkeypatch.setenv(name, "1")
    (finding,) = variables.findings()
    check(finding, "ok", "LAZYENTITY_DISABLE")
