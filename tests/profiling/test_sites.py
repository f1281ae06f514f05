"""The lines that a profile names: those of the application, whoever they call."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import sysconfig
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import lazyentity
from lazyentity.codec import sites
from lazyentity.codec.sites import Site
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.profiling.collection import Profile
from tests.profiling.receiving import BACKENDS, FIVE, Response

pytestmark = pytest.mark.parametrize("backend", BACKENDS)

LIBRARY = Path(sysconfig.get_paths()["purelib"], "some_framework", "core.py")


def _line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def _run_in(file: str, module: str, source: str, **names: Any) -> None:
    """Run code as if it were in a file."""
    code: CodeType = compile(source, file, "exec")
    exec(code, {"__name__": module, **names})  # noqa: S102  # code of the test


def _whole_site(profile: Profile) -> Site:
    (whole,) = profile.report().wholes
    return whole.site


def test_the_line_that_received_and_the_line_that_decodes(backend: str) -> None:
    with lazyentity.profile() as profile:
        response = Response(backend, [FIVE])
        (entity,) = response.entities()
        received = _line() - 1
        entity.items()
        decoded = _line() - 1
    (reads,) = profile.report().sites
    # The helper of the tests converts.
    assert reads.site.function in ("entities", "<listcomp>")
    assert reads.site.file.endswith("receiving.py")
    assert _whole_site(profile)[:2] == (__file__, decoded)
    assert received < decoded


def test_libraries_are_passed_over(backend: str) -> None:
    """An application's line counts, and the library that it calls is named."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        _run_in(str(LIBRARY), "some_framework.core", "entity.items()", entity=entity)
        run_in = _line() - 1
    site = _whole_site(profile)
    assert site.function == "_run_in"
    assert site.via == "some_framework.core"
    assert run_in


def test_json(backend: str) -> None:
    """json.dumps() encodes by items()."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        json.dumps(entity)
        line = _line() - 1
    site = _whole_site(profile)
    assert site[:2] == (__file__, line)
    assert site.via.partition(".")[0] == "json"


def test_a_library_in_an_event_loop(backend: str) -> None:
    """A framework serialises after the application's function: its line counts."""

    async def read() -> None:
        (entity,) = Response(backend, [FIVE]).entities()
        call_soon = asyncio.get_running_loop().call_soon
        source = "\ncall_soon(lambda: entity.items())"
        _run_in(str(LIBRARY), "some_framework.core", source, entity=entity, call_soon=call_soon)
        await asyncio.sleep(0)

    with lazyentity.profile() as profile:
        asyncio.run(read())
    assert _whole_site(profile)[:2] == (str(LIBRARY), 2)


def test_a_script_of_a_library(backend: str) -> None:
    """It is not the application: that of a server for one."""
    script = str(Path(sysconfig.get_paths()["scripts"], "some_server"))
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        _run_in(script, "__main__", "entity.items()", entity=entity)
    assert _whole_site(profile).function == "_run_in"


@pytest.mark.parametrize(
    ("module", "function"),
    [("lazyentity.bench.demo", "<module>"), ("lazyentity.entity", "_run_in")],
)
def test_an_application_of_lazyentity(backend: str, module: str, function: str) -> None:
    """The benchmark is one: its lines count, those of the rest do not."""
    importlib.import_module("lazyentity.bench")
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        _run_in(f"/checkout/{module}.py", module, "entity.items()", entity=entity)
    assert _whole_site(profile).function == function


def test_an_application_that_is_installed(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all code is that of libraries, the innermost line counts."""
    monkeypatch.setattr(sites, "_FOLDERS", ("/",))
    # A worker of the tests is itself a program without a file.
    monkeypatch.setattr(sites, "_INTERACTIVE", ())
    sites.ROLES.clear()
    monkeypatch.setattr(sites, "_sites", {})
    try:
        with lazyentity.profile() as profile:
            (entity,) = Response(backend, [FIVE]).entities()
            entity.items()
            line = _line() - 1
    finally:
        sites.ROLES.clear()
    assert _whole_site(profile)[:2] == (__file__, line)


def test_code_without_a_file(backend: str) -> None:
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        _run_in("<stdin>", "__main__", "\n\nentity.items()", entity=entity)
    assert _whole_site(profile)[:2] == ("<stdin>", 3)


def test_sentinels(backend: str) -> None:
    """Each use that is refused is counted at its line."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        leaked = dict.get(entity, "a")
        for _ in range(3):
            with pytest.raises(TypeError):
                bool(leaked)
        line = _line() - 1
        with pytest.raises(TypeError):
            entity["b"] = leaked
    used, assigned = profile.report().sentinels
    assert (used.use, used.count, used.site.file, used.site.line) == ("used", 3, __file__, line)
    assert (assigned.use, assigned.count) == ("assigned", 1)
    assert leaked is UNDECODED
