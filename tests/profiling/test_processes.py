"""Profiles in threads, after a fork, and of whole processes: ``LAZYENTITY_PROFILE``."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lazyentity
from lazyentity.profiling import callsites, observer
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.collection import Profile
from lazyentity.pure.shapes import Shape
from tests.profiling.receiving import FIVE, OTHER, Response, learn, only
from tests.support.changing import in_collections
from tests.support.concurrency import together
from tests.support.forks import run

THREADS, ROUNDS = 8, 60


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize("is_learned", [False, True])
def test_no_count_is_lost_between_threads(backend: str, is_learned: bool) -> None:
    if is_learned:
        learn(backend, FIVE, OTHER)

    def read(_: int) -> None:
        for _ in range(ROUNDS):
            for entity in Response(backend, [FIVE, OTHER]).entities():
                entity["a"]
                entity.items()

    with lazyentity.profile() as profile:
        together(THREADS, read)
    counts = only(profile)
    assert counts.entities == 2 * THREADS * ROUNDS
    assert counts.alive == 0
    read_once = THREADS * ROUNDS
    assert counts.read == Counter(a=2 * read_once)
    assert counts.whole == Counter(dict.fromkeys("bcdez", read_once))


@pytest.mark.usefixtures("frequent_switches")
def test_profiles_begin_and_end_in_threads(backend: str) -> None:
    """Meanwhile reads go on, and at the end nothing is counted any more."""

    def work(number: int) -> None:
        for _ in range(20):
            if number % 2:
                with lazyentity.profile() as profile:
                    Response(backend, [FIVE]).entities()
                assert sum(kind.entities for kind in profile.report().kinds) >= 1
            else:
                for entity in Response(backend, [FIVE]).entities():
                    assert entity["a"] == 1

    together(6, work)
    assert observer.data is None


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("eager", [False, True])
def test_a_profile_ends_while_entities_arrive(backend: str, eager: bool) -> None:
    """At any moment, as another thread can end it."""
    learn(backend, FIVE)
    for threshold, before, moment in itertools.product((1, 2, 3), range(4), range(12)):
        response = Response(backend, [FIVE] * 2, eager=eager)
        running = [lazyentity.profile().start()]

        def end(number: int, moment: int = moment, running: list[Profile] = running) -> None:
            if number == moment:
                running.pop().stop()

        with in_collections(end, threshold):
            # Which objects are made when garbage is collected depends on those made before.
            made: list[list[None]] = [[] for _ in range(before)]
            entities = response.entities()
        for profile in running:
            profile.stop()
        del made
        assert [entity["a"] for entity in entities] == [1, 1]
        assert observer.data is None


def test_a_report_while_entities_arrive(backend: str) -> None:
    """Other threads add sites, kinds and names meanwhile."""

    def arrive(line: int) -> None:
        assert observer.data is not None
        site = CallSite("file", line, "function", "")
        observer.data.call_site(site, "Kind").add(["a"], Shape(["a"]), 1)
        observer.data.call_site(callsites.OTHERS, "Kind").add(["a"], Shape(["a"]), 1)
        observer.data.line(observer.data.wholes, (site, "items()", None)).calls += 1

    for _ in range(3):
        # A report takes the longer, the more sites there are.
        with lazyentity.profile() as profile:
            Response(backend, [FIVE]).entities()
            arrive(-1)
            with in_collections(arrive):
                report = profile.report()
        assert sum(kind.entities for kind in report.kinds)


def _standing() -> dict[str, Any]:
    """Return the attributes of modules and classes that count."""
    names = {
        "lazyentity.pure.columns": (),
        "lazyentity.pure.mapping": ("LazyMapping",),
        "lazyentity.pure.responses": ("EntityBytes",),
        "lazyentity.plain": (),
        "lazyentity.entity": ("LazyEntityBase", "LazyEntity"),
        "lazyentity.patches.adapters.fields": (),
        "lazyentity.patches.api.entities": ("EntityMessage", "EntityHandle", "EntityResult"),
        "lazyentity.patches.api.responses": ("RunQueryResponse", "_ResponseBytes"),
    }
    standing = {}
    for module_name, classes in names.items():
        module = importlib.import_module(module_name)
        for owner in [module, *(getattr(module, name) for name in classes)]:
            standing[f"{module_name}.{owner.__name__}"] = dict(vars(owner))
    return standing


def test_only_the_class_of_entities_changes(backend: str) -> None:
    """It has methods that note uses while a profile runs, and the earlier methods afterwards."""
    before = _standing()
    with lazyentity.profile():
        Response(backend, [FIVE]).entities()
        during = _standing()
        entity_class = during.pop("lazyentity.entity.LazyEntityBase")
        assert entity_class.items() != before["lazyentity.entity.LazyEntityBase"].items()
        assert during == {name: before[name] for name in during}
    assert _standing() == before


@pytest.mark.parametrize("stops", [False, True])
def test_a_forked_child_counts_for_itself(backend: str, stops: bool) -> None:
    """The counts of its parent, also of an outer profile, are left out."""
    learn(backend, FIVE)
    reading, writing = os.pipe()
    with lazyentity.profile(), contextlib.ExitStack() as inner:
        Response(backend, [FIVE] * 5).entities()
        profile = inner.enter_context(lazyentity.profile())
        Response(backend, [FIVE] * 3).entities()
        with warnings.catch_warnings():
            # Python 3.12 and later warn of the threads that other tests left; the child needs none.
            warnings.filterwarnings(
                "ignore", "This process .* is multi-threaded", DeprecationWarning
            )
            child = os.fork()
        if child == 0:
            status = 1
            try:
                Response(backend, [FIVE] * 2).entities()
                if stops:
                    profile.stop()
                (kind,) = profile.report().kinds
                os.write(writing, str(kind.entities).encode())
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() == "2"
    assert only(profile).entities == 3


@pytest.mark.parametrize("call", ["stop", "report"])
def test_a_profile_that_never_began(call: str) -> None:
    with pytest.raises(RuntimeError):
        getattr(Profile(), call)()


def test_a_profile_is_used_once() -> None:
    with lazyentity.profile() as profile, pytest.raises(RuntimeError, match="started before"):
        profile.start()
    with pytest.raises(RuntimeError, match="does not run"):
        profile.stop()
    assert observer.data is None
    assert "lazyentity.profiling.collection" in sys.modules


PROGRAM = """
import code
import ctypes
import functools
import os
import signal
import sys
import time
if "handle" in sys.argv:
    # After the functions that are registered later; to this thread.
    send = getattr(ctypes.PyDLL(None), "raise")
    os.register_at_fork(before=functools.partial(send, signal.SIGTERM))
import lazyentity
assert "google.cloud.datastore" not in sys.modules
from google.cloud import datastore
from lazyentity._backend import EntityBytes, ReadRpc
from lazyentity.readers import LAZY
entity = datastore.Entity(datastore.Key("Kind", 1, project="p"))
entity.update(dict.fromkeys("abcde", 1))
raw = lazyentity.raw(entity)
def read(count):
    rpc = ReadRpc()
    for _ in range(count):
        handle = EntityBytes.__new__(EntityBytes)
        handle._receive(raw, rpc)
        handle.read(LAZY)["a"]
read(3)
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        read(2)
        sys.exit()
    idle = os.fork()
    if idle == 0:
        sys.exit()
    os.waitpid(child, 0)
    os.waitpid(idle, 0)
if "multiprocessing" in sys.argv:
    import multiprocessing
    context = multiprocessing.get_context("fork")
    child = context.Process(target=read, args=(2,))
    child.start()
    child.join()
    with context.Pool(1) as pool:
        # At the end of the block it is terminated.
        pool.apply(read, (4,))
for _ in range(20 if "kill children" in sys.argv else 0):
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(1)
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
if "handle" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    if os.fork() == 0:
        os._exit(1)
if "catch" in sys.argv:
    console = code.InteractiveInterpreter()
    console.write = lambda _: None
    console.runsource("raise KeyboardInterrupt")
if "terminate" in sys.argv:
    os.kill(os.getpid(), signal.SIGTERM)
if "interrupt" in sys.argv:
    sys.excepthook = lambda *_: None
    # A shell that runs a program in the background has it ignore this signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""


def _profile(value: str, *arguments: str, status: int = 0) -> tuple[str, str]:
    finished = run("-c", PROGRAM, *arguments, LAZYENTITY_PROFILE=value)
    assert finished.returncode == status, finished.stderr
    return finished.stdout, finished.stderr


def _entities(folder: Path) -> dict[str, int]:
    """Return how many entities each file in a folder counts."""
    return {
        path.name: sum(kind["entities"] for kind in json.loads(path.read_text())["kinds"])
        for path in folder.iterdir()
    }


def test_tables_on_the_standard_error_output() -> None:
    output, errors = _profile("1")
    assert output == ""
    assert "3 entities, 3 of 15 properties decoded" in errors
    assert "Received, by kind" in errors


def test_a_program_that_does_not_import_the_client() -> None:
    finished = run("-c", "import lazyentity.auto", LAZYENTITY_PROFILE="1")
    assert finished.returncode == 0
    assert "no entities were received" in finished.stderr
    assert "Warning" not in finished.stderr


def test_off() -> None:
    assert _profile("off") == ("", "")


@pytest.mark.parametrize(
    ("end", "status", "of_children"),
    [
        # A child that received something has a separate file.
        ("fork", 0, [2]),
        # Children end without the functions of ``atexit``, and workers of a pool by a signal.
        ("multiprocessing", 0, [2, 4]),
        # The report is written, and the process ends by the signal.
        ("terminate", -signal.SIGTERM, []),
        ("interrupt", -signal.SIGINT, []),
        # The signal comes while the child is made.
        ("kill children", 0, []),
        # It comes to the parent meanwhile, whose own handler raises.
        ("handle", 5, []),
        # The interrupt ends code that a library runs, and not the program.
        ("catch", 0, []),
    ],
)
def test_files_of_all_processes(
    end: str, status: int, of_children: list[int], tmp_path: Path
) -> None:
    assert _profile(str(tmp_path / "profile.json"), end, status=status) == ("", "")
    entities = _entities(tmp_path)
    assert entities.pop("profile.json") == 3
    assert sorted(entities.values()) == of_children


@pytest.mark.parametrize("suffix", ["json", "html"])
def test_a_source_whose_name_is_no_text(suffix: str, tmp_path: Path) -> None:
    """Names of files are bytes, of which some are no UTF-8."""
    path = tmp_path / f"profile.{suffix}"
    program = f"exec(compile({PROGRAM!r}, '/application/\\udcff.py', 'exec'))"
    finished = run("-c", program, LAZYENTITY_PROFILE=str(path))
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "\\udcff.py" in path.read_text("utf-8")


def test_a_page(tmp_path: Path) -> None:
    path = tmp_path / "profile.html"
    assert _profile(str(path)) == ("", "")
    assert path.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("yes please", ["is neither 1 nor a path that ends in .json or .html"]),
        # It is said at the start, and at the end the report is not lost.
        ("missing/profile.json", ["there is no folder", "cannot be written"]),
    ],
)
def test_a_file_that_cannot_be(name: str, texts: list[str]) -> None:
    _, errors = _profile(name)
    for text in [*texts, "3 entities"]:
        assert text in errors


def test_commands_of_lazyentity(tmp_path: Path) -> None:
    """They leave the report of a program as it is, and do not count as its first process."""
    path = tmp_path / "profile.json"
    path.write_text("of a program")
    finished = run(
        "-c",
        "import os, sys; from lazyentity.cli import dispatch\n"
        "try: dispatch.main(['--version'])\n"
        "finally: print('LAZYENTITY_PROFILE_PROCESS' in os.environ)",
        LAZYENTITY_PROFILE=str(path),
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[1:] == ["False"]
    assert path.read_text() == "of a program"
