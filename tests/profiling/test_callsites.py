"""The lines that a profile names: the application's, whoever they call, and odd names."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import importlib
import inspect
import json
import sysconfig
import threading
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.profiling import callsites
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.collection import Profile
from tests.codec.test_errors import CUT_OFF, GOOD, GOOD_KEY, property_field
from tests.profiling import receiving
from tests.profiling.receiving import FIVE, Response, learn
from tests.support import hostile
from tests.support.strategies import wire

SCRIPTS = Path(sysconfig.get_paths()["scripts"])
LIBRARY = Path(sysconfig.get_paths()["purelib"], "some_framework", "core.py")


def _line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def _run(
    source: str, module: Any = "some_framework.core", file: str = str(LIBRARY), **names: Any
) -> dict[str, Any]:
    """Run code as if it were in a file, that of a library unless said otherwise.

    Returns:
        The names of its module.
    """
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


@pytest.mark.parametrize(
    ("module", "file", "expected"),
    [
        # An application's line counts, and the library that it calls is named.
        ("some_framework.core", str(LIBRARY), (__file__, "_run", "some_framework.core")),
        # The script of a library is not the application: that of a server for one.
        ("__main__", str(SCRIPTS / "some_server"), (__file__, "_run", "__main__")),
        ("__main__", "<stdin>", ("<stdin>", "<module>", "")),
        # The benchmark is an application: its lines count, other lines of lazyentity do not.
        ("lazyentity.bench.demo", "/checkout/demo.py", ("/checkout/demo.py", "<module>", "")),
        ("lazyentity.entity", "/checkout/entity.py", (__file__, "_run", "")),
    ],
)
def test_whose_line_it_is(
    backend: str, module: str, file: str, expected: tuple[str, str, str]
) -> None:
    importlib.import_module("lazyentity.bench")
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        _run("\n\nentity.items()", module, file, entity=entity)
    site = _whole_site(profile)
    assert (site.file, site.function, site.via) == expected
    assert site.function == "_run" or site.line == 3


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
        _run("\ncall_soon(lambda: entity.items())", entity=entity, call_soon=call_soon)
        await asyncio.sleep(0)

    with lazyentity.profile() as profile:
        asyncio.run(read())
    assert _is_earlier(_whole_site(profile))


def test_a_library_in_a_thread(backend: str) -> None:
    """A thread of a framework has no line of the application."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        serialise = _run("def serialise(): entity.items()", entity=entity)["serialise"]
        thread = threading.Thread(target=serialise)
        thread.start()
        thread.join()
    assert _is_earlier(_whole_site(profile))


def test_a_loop_in_c(backend: str) -> None:
    """Such a loop has no frame; the line that started it did not call the framework's code."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        serialise = _run("async def serialise(): entity.items()", entity=entity)["serialise"]
        with contextlib.suppress(StopIteration):
            serialise().send(None)
    assert _is_earlier(_whole_site(profile))


def test_a_middleware_of_the_application(backend: str) -> None:
    """It waits for the framework, and gets no entity; neither does the program around it."""
    handle = _run("def handle(receive): return receive().items()")["handle"]

    def middleware() -> Any:
        return handle(lambda: Response(backend, [FIVE]).entities()[0])

    with lazyentity.profile() as profile:
        middleware()
    assert _is_earlier(_whole_site(profile))


def test_a_middleware_that_awaits(backend: str) -> None:
    handle = _run("async def handle(receive): return (await receive()).items()")["handle"]

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
    client = _run("def get(make): return make()", "google.cloud.some_client")
    framework = _run("def encode(entity): return entity.items()")
    source = """
def read(make):
    return get(make)

def serve(make):
    return encode(read(make))
"""
    names = {"get": client["get"], "encode": framework["encode"]}
    application = _run(source, "some_application.main", INSTALLED, **names)
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


class Names(str, enum.Enum):
    A = "a"


@pytest.mark.parametrize("is_learned", [False, True])
def test_names_without_a_text(backend: str, is_learned: bool) -> None:
    """A name of a subclass of str is counted as the string that it is."""
    if is_learned:
        learn(backend, FIVE)
    with lazyentity.profile() as profile:
        first, second = Response(backend, [FIVE] * 2).entities()
        assert first[hostile.Name("a")] == 1
        assert second[Names.A] == 1
        assert second.get(hostile.Name("b")) == "two"
    assert ">a<" in profile.html()
    assert profile.table()
    (kind,) = profile.report().kinds
    assert {each.name: each.decoded for each in kind.properties if each.decoded} == {
        "a": 2,
        "b": 1,
    }


def test_an_error_of_a_name_without_a_text(backend: str) -> None:
    raw = wire.encode([GOOD_KEY, GOOD, property_field("name", CUT_OFF)])
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [raw]).entities()
        for name in ("name", hostile.Name("name")):
            with pytest.raises(DecodeError, match="property 'name' of the entity"):
                entity[name]
    assert profile.report().kinds[0].properties_decoded == 0


@pytest.mark.parametrize("sort", hostile.VALUES)
def test_code_of_a_module_without_a_name(backend: str, sort: str) -> None:
    """Code can be run with any name of a module, in a file of any name."""
    with lazyentity.profile() as profile:
        entities = Response(backend, [FIVE] * 2).entities()
        source = "value = entities[0]['a']; every = dict(entities[1].items())"
        module = hostile.VALUES[sort]()
        run = _run(source, module, "\udcff\x1b[1m.py", entities=entities)
    assert (run["value"], len(run["every"])) == (1, 5)
    report = profile.report()
    assert report.wholes[0].site.function == "<module>"
    assert json.loads(profile.json())["wholes"]
    profile.html().encode(errors="backslashreplace")
    profile.table().encode(errors="backslashreplace")
