"""Profiles in threads, after a fork, and of whole processes: ``LAZYENTITY_PROFILE``."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest

import lazyentity
from lazyentity.profiling import observer
from lazyentity.profiling.collection import Profile
from tests.profiling.receiving import FIVE, OTHER, Response, learn, only
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
import os
import sys
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
    for count in (2, 0):
        child = os.fork()
        if child == 0:
            read(count)
            sys.exit()
        os.waitpid(child, 0)
"""


def _profile(value: str, *arguments: str) -> str:
    finished = run("-c", PROGRAM, *arguments, LAZYENTITY_PROFILE=value)
    assert (finished.returncode, finished.stdout) == (0, ""), finished.stderr
    return finished.stderr


def test_tables_on_the_standard_error_output() -> None:
    """Of each process that received entities."""
    errors = _profile("1", "fork")
    assert "3 entities, 3 of 15 properties decoded" in errors
    assert "2 entities, 2 of 10 properties decoded" in errors
    assert errors.count("lazyentity profile") == 2


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    assert _profile(str(path)) == ""
    (kind,) = json.loads(path.read_text())["kinds"]
    assert (kind["kind"], kind["entities"]) == ("Kind", 3)


def test_a_program_that_does_not_import_the_client() -> None:
    finished = run("-c", "import lazyentity.auto", LAZYENTITY_PROFILE="1")
    assert finished.returncode == 0
    assert "no entities were received" in finished.stderr
    assert "Warning" not in finished.stderr


def test_off() -> None:
    assert _profile("off") == ""


@pytest.mark.parametrize("name", ["yes please", "profile.html", "missing/profile.json"])
def test_a_file_that_cannot_be(name: str) -> None:
    """The report is not lost."""
    errors = _profile(name)
    assert "is neither 1 nor the path of a .json file" in errors
    assert "3 entities" in errors
