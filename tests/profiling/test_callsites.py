"""The lines that a profile names: those of the application, whoever they call."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import inspect
import json
import sysconfig
import threading
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.profiling import callsites
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.collection import Profile
from tests.profiling import receiving
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


def _define(
    source: str, module: str = "some_framework.core", file: str = str(LIBRARY), **names: Any
) -> dict[str, Any]:
    """Return the names of a module, a library unless said otherwise."""
    made = {"__name__": module, **names}
    exec(compile(source, file, "exec", dont_inherit=True), made)  # noqa: S102  # code of the test
    return made


def _whole_site(profile: Profile) -> CallSite:
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


RECEIVED = "entities", "<listcomp>"
"""The functions of the tests' helper that receive entities."""


def _is_earlier(site: CallSite) -> bool:
    """Whether a site is the line that received the entities, for a library that used them later."""
    is_received = site.file == receiving.__file__ and site.function in RECEIVED
    return is_received and site.is_earlier and site.via == "some_framework.core"


def test_a_library_in_an_event_loop(backend: str) -> None:
    """A framework serialises after the application's function: the line that received counts."""

    async def read() -> None:
        (entity,) = Response(backend, [FIVE]).entities()
        call_soon = asyncio.get_running_loop().call_soon
        source = "\ncall_soon(lambda: entity.items())"
        _run_in(str(LIBRARY), "some_framework.core", source, entity=entity, call_soon=call_soon)
        await asyncio.sleep(0)

    with lazyentity.profile() as profile:
        asyncio.run(read())
    assert _is_earlier(_whole_site(profile))


def test_a_library_in_a_thread(backend: str) -> None:
    """A thread of a framework has no line of the application."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        serialise = _define("def serialise(): entity.items()", entity=entity)["serialise"]
        thread = threading.Thread(target=serialise)
        thread.start()
        thread.join()
    assert _is_earlier(_whole_site(profile))


def test_a_loop_in_c(backend: str) -> None:
    """Such a loop has no frame; the line that started it did not call the framework's code."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        source = "async def serialise(): entity.items()"
        serialise = _define(source, entity=entity)["serialise"]
        with contextlib.suppress(StopIteration):
            serialise().send(None)
    assert _is_earlier(_whole_site(profile))


def test_a_middleware_of_the_application(backend: str) -> None:
    """It waits for the framework, and gets no entity; neither does the program around it."""
    source = "def handle(receive): return receive().items()"
    handle = _define(source)["handle"]

    def middleware() -> Any:
        return handle(lambda: Response(backend, [FIVE]).entities()[0])

    with lazyentity.profile() as profile:
        middleware()
    assert _is_earlier(_whole_site(profile))


def test_a_middleware_that_awaits(backend: str) -> None:
    source = "async def handle(receive): return (await receive()).items()"
    handle = _define(source)["handle"]

    async def receive() -> Any:
        await asyncio.sleep(0)
        (entity,) = Response(backend, [FIVE]).entities()
        await asyncio.sleep(0)
        return entity

    async def middleware() -> Any:
        return await handle(receive)

    with lazyentity.profile() as profile:
        asyncio.run(middleware())
    assert _is_earlier(_whole_site(profile))


def test_a_function_that_hands_on_what_it_got(backend: str) -> None:
    """It waits at another place for the library than for the entity: its line counts."""

    def received() -> Any:
        return Response(backend, [FIVE]).entities()[0]

    with lazyentity.profile() as profile:
        json.dumps(received())
        line = _line() - 1
    site = _whole_site(profile)
    assert site[:2] == (__file__, line)
    assert not site.is_earlier


INSTALLED = str(LIBRARY.with_name("app.py"))


def test_an_application_beside_its_libraries(backend: str) -> None:
    """Its package is that of the line that received for it, which is not the client's."""
    client = _define("def get(make): return make()", "google.cloud.some_client")
    framework = _define("def encode(entity): return entity.items()", "some_framework.core")
    source = """
def read(make):
    return get(make)

def serve(make):
    return encode(read(make))
"""
    names = {"get": client["get"], "encode": framework["encode"]}
    application = _define(source, "some_application.main", INSTALLED, **names)
    response = Response(backend, [FIVE])
    make = functools.partial(response._handles[0].read, response._reader)
    with lazyentity.profile() as profile:
        # Of the tests' own code, nothing is on the stack.
        thread = threading.Thread(target=application["serve"], args=(make,))
        thread.start()
        thread.join()
    (reads,) = profile.report().sites
    assert reads.site == CallSite(INSTALLED, 3, "read", "google.cloud.some_client")
    assert _whole_site(profile) == CallSite(INSTALLED, 6, "serve", "some_framework.core")


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
    monkeypatch.setattr(callsites, "_FOLDERS", ("/",))
    # A worker of the tests is itself a program without a file.
    monkeypatch.setattr(callsites, "_INTERACTIVE", ())
    callsites.ROLES.clear()
    monkeypatch.setattr(callsites, "_sites", {})
    try:
        with lazyentity.profile() as profile:
            (entity,) = Response(backend, [FIVE]).entities()
            entity.items()
            line = _line() - 1
    finally:
        callsites.ROLES.clear()
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
