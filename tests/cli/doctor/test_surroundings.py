"""Versions, the backend, protobuf, and the environment."""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.internal import api_implementation

import lazyentity.native
from lazyentity import _choice
from lazyentity.cli.doctor import backends, variables, versions
from lazyentity.cli.doctor.findings import Finding
from lazyentity.cli.run import BOOTSTRAP

pytestmark = pytest.mark.any_backend


def of(subject: str, found: list[Finding]) -> Finding:
    (one,) = (one for one in found if one.subject == subject)
    return one


class TestVersions:
    def find(self) -> list[Finding]:
        return list(versions.findings())

    def test_here(self) -> None:
        """The tests run where everything is supported."""
        found = self.find()
        assert {"Python", "lazyentity", "protobuf", "proto-plus", "wrapt"} <= {
            one.subject for one in found
        }
        assert "problem" not in {one.level for one in found}

    @pytest.mark.parametrize(("version", "level"), [("3.9", "note"), ("3.99", "note")])
    def test_other_pythons(self, version: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(versions, "PYTHONS", (version,))
        assert of("Python", self.find()).level == level

    def test_another_implementation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(platform, "python_implementation", lambda: "PyPy")
        finding = of("Python", self.find())
        assert finding.level == "note"
        assert finding.text.startswith("PyPy 3.")

    def test_free_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "version", f"{sys.version} free-threading build")
        finding = of("Python", self.find())
        assert finding.level == "note"
        assert "free-threaded" in finding.text

    @pytest.fixture
    def installed(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | None], None]:
        """Pretends that another version is installed, or none."""

        def pretend(distribution: str, version: str | None) -> None:
            real = metadata.version

            def version_of(name: str) -> str:
                if name != distribution:
                    return real(name)
                if version is None:
                    raise metadata.PackageNotFoundError(name)
                return version

            monkeypatch.setattr(metadata, "version", version_of)

        return pretend

    def test_a_requirement_of_another_version(
        self, installed: Callable[[str, str | None], None]
    ) -> None:
        installed("wrapt", "1.16.0")
        finding = of("wrapt", self.find())
        assert finding.level == "problem"
        assert finding.text == "1.16.0 is not supported (supported: >=2)"
        assert finding.advice == "pip install 'wrapt>=2'"

    def test_a_missing_requirement(self, installed: Callable[[str, str | None], None]) -> None:
        installed("wrapt", None)
        assert of("wrapt", self.find()).text == "is not installed"

    def test_an_untested_library(
        self, installed: Callable[[str, str | None], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Unless nothing is adapted."""
        installed("orjson", "99.0")
        finding = of("orjson", self.find())
        assert finding.level == "note"
        assert "lazyentity.materialize(entity)" in finding.advice
        monkeypatch.setenv("LAZYENTITY_ADAPTERS", "0")
        assert "orjson" not in {one.subject for one in self.find()}

    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As in a folder that somebody copied."""

        def requires(name: str) -> list[str]:
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "requires", requires)
        assert "but not installed" in self.find()[2].text


class TestBackend:
    def find(self) -> Finding:
        return of("backend", list(backends.findings(True)))

    def test_a_client_that_cannot_be_imported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """For one, if protobuf refuses its variable."""

        def import_module(_: str) -> Any:
            raise ValueError("it is not supported")

        monkeypatch.delenv(_choice.REQUEST, raising=False)
        # Not any longer: unpatching imports, too.
        with monkeypatch.context() as patched:
            patched.setattr(importlib, "import_module", import_module)
            finding = self.find()
        assert finding.level == "problem"
        assert finding.text.endswith(" raises ValueError: it is not supported")

    @pytest.fixture
    def built(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The folder of the native backend, with none of its modules."""
        monkeypatch.delenv(_choice.REQUEST, raising=False)
        monkeypatch.setattr(lazyentity.native, "__path__", [str(tmp_path)])
        for name in _choice.NATIVE_MODULES:
            monkeypatch.delitem(sys.modules, name, raising=False)
        return tmp_path

    def test_not_built(self, built: Path) -> None:
        finding = self.find()
        assert finding.level == "note"
        assert finding.text == (
            "pure, the slower one: the native backend was not built, there is no module "
            f"{_choice.NATIVE_MODULES[0]}"
        )
        assert finding.advice == _choice.BUILD_IT

    def test_built_for_another_python(self, built: Path) -> None:
        name = "index.cpython-27-x86_64-linux-gnu.so"
        (built / name).touch()
        assert self.find().text.endswith(f"was built for another Python ({name})")

    def test_built_in_part(self, built: Path) -> None:
        first, second, *_ = _choice.NATIVE_MODULES
        (built / f"{first.rpartition('.')[2]}{EXTENSION_SUFFIXES[0]}").touch()
        assert self.find().text.endswith(f"there is no module {second}")

    def test_requested_but_not_built(self, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(_choice.REQUEST, "native")
        finding = self.find()
        assert finding.level == "problem"
        assert finding.text.startswith("LAZYENTITY_BACKEND=native cannot be met: the native")
        assert finding.advice.endswith(", or unset LAZYENTITY_BACKEND")

    @pytest.mark.parametrize(("requested", "level"), [("", "note"), ("native", "problem")])
    def test_built_but_broken(
        self, requested: str, level: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(_choice.REQUEST, requested)
        monkeypatch.setattr(backends, "obstacle", lambda: None)
        monkeypatch.setattr(backends, "_built_for_another", str)
        monkeypatch.setitem(sys.modules, "lazyentity.native.backend", None)
        finding = self.find()
        assert finding.level == level
        assert "lazyentity.native.backend" in finding.text

    def test_pure_by_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(_choice.REQUEST, "pure")
        finding = self.find()
        assert (finding.level, finding.advice) == ("note", "unset the variable")
        assert "LAZYENTITY_BACKEND=pure requests the pure backend" in finding.text

    def test_an_unknown_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(_choice.REQUEST, "naive")
        finding = self.find()
        assert finding.level == "problem"
        assert "'naive' is not a backend" in finding.text

    @pytest.mark.parametrize(
        ("is_set", "advice"), [(True, f"unset {backends.PROTOBUF}"), (False, "install a wheel")]
    )
    def test_protobuf_in_python(
        self, is_set: bool, advice: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(backends.PROTOBUF, raising=False)
        if is_set:
            monkeypatch.setenv(backends.PROTOBUF, "python")
        monkeypatch.setattr(api_implementation, "Type", lambda: "python")
        finding = of("protobuf", list(backends.findings(False)))
        assert finding.level == "note"
        assert finding.advice.startswith(advice)

    def test_protobuf_that_cannot_be_imported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It refuses other values of its variable."""
        monkeypatch.setenv(backends.PROTOBUF, "fast")
        monkeypatch.delattr("google.protobuf.internal.api_implementation")
        monkeypatch.setitem(sys.modules, "google.protobuf.internal.api_implementation", None)
        finding = of("protobuf", list(backends.findings(False)))
        assert finding.level == "problem"
        assert finding.advice == f"unset {backends.PROTOBUF}"


class TestVariables:
    @pytest.fixture(autouse=True)
    def _none_is_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(_choice.REQUEST, raising=False)

    def test_none(self) -> None:
        (finding,) = variables.findings()
        assert finding.level == "ok"
        assert "LAZYENTITY_DISABLE" in finding.text

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("LAZYENTITY_DISABLE", "1"),
            ("LAZYENTITY_EAGER", "yes"),
            ("LAZYENTITY_ADAPTERS", "0"),
            ("LAZYENTITY_PROFILE", "out.json"),
        ],
    )
    def test_one(self, name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(name, value)
        (finding,) = variables.findings()
        assert (finding.subject, finding.level) == (name, "note")
        assert finding.advice.startswith(f"unset {name}")

    def test_a_backend(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(_choice.REQUEST, "pure")
        (finding,) = variables.findings()
        assert finding.text == "requires the backend 'pure'"

    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            ("LAZYENTITY_DISBALE", "LAZYENTITY_DISABLE?"),
            ("LAZYENTITY_XYZZY_PLUGH", "known are LAZYENTITY_ADAPTERS, "),
        ],
    )
    def test_a_typo(self, name: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(name, "1")
        (finding,) = variables.findings()
        assert (finding.subject, finding.level) == (name, "note")
        assert finding.advice.startswith(advice)

    def test_of_lazyentity_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A profiled program has one more."""
        monkeypatch.setenv("LAZYENTITY_PROFILE_PROCESS", "1")
        (finding,) = variables.findings()
        assert finding.level == "ok"

    def test_of_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The emulator, and the start by lazyentity-run."""
        monkeypatch.setenv("DATASTORE_EMULATOR_HOST", "127.0.0.1:1")
        monkeypatch.setenv("PYTHONPATH", BOOTSTRAP)
        texts = {one.subject: one.text for one in variables.findings()}
        assert texts["DATASTORE_EMULATOR_HOST"] == "clients read from 127.0.0.1:1"
        assert texts["PYTHONPATH"].endswith("by lazyentity-run")

    def test_an_empty_emulator(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The client takes it for the address of one."""
        monkeypatch.setenv("DATASTORE_EMULATOR_HOST", "")
        finding = of("DATASTORE_EMULATOR_HOST", list(variables.findings()))
        assert (finding.level, finding.advice) == ("note", "unset DATASTORE_EMULATOR_HOST")
