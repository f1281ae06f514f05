"""``LAZYENTITY_PROFILE``: a report at exit, from each process of a program."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.forks import run

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
if "terminate" in sys.argv:
    import signal
    os.kill(os.getpid(), signal.SIGTERM)
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


def test_files_of_all_processes(tmp_path: Path) -> None:
    """A child that received something has a file of its own."""
    path = tmp_path / "profile.json"
    assert _profile(str(path), "fork") == ("", "")
    entities = _entities(tmp_path)
    assert entities.pop("profile.json") == 3
    assert list(entities.values()) == [2]


def test_children_of_multiprocessing(tmp_path: Path) -> None:
    """They end without the functions of ``atexit``, and those of a pool by a signal."""
    assert _profile(str(tmp_path / "profile.json"), "multiprocessing") == ("", "")
    entities = _entities(tmp_path)
    assert entities.pop("profile.json") == 3
    assert sorted(entities.values()) == [2, 4]


def test_termination(tmp_path: Path) -> None:
    """The report is written, and the process ends by the signal."""
    status = -signal.SIGTERM
    assert _profile(str(tmp_path / "profile.json"), "terminate", status=status) == ("", "")
    assert _entities(tmp_path) == {"profile.json": 3}


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


def test_a_name_that_is_no_file() -> None:
    _, errors = _profile("yes please")
    assert "is neither 1 nor a path that ends in .json or .html" in errors
    assert "3 entities" in errors


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    """It is said at the start, and at the end the report is not lost."""
    _, errors = _profile(str(tmp_path / "missing" / "profile.json"))
    assert "there is no folder" in errors
    assert "cannot be written" in errors
    assert "3 entities" in errors


def test_commands_of_lazyentity(tmp_path: Path) -> None:
    """They leave the report of a program as it is, and are not the first process of one."""
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
