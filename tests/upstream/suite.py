"""Fetches and runs the tests that a distribution ships in its source distribution."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from tests.upstream import recorder

CLIENT = "google-cloud-datastore"


class Suite(NamedTuple):
    """The tests of a distribution.

    Attributes:
        distribution: its name.
        parts: the folders of the source distribution that the tests need, their own first.
        arguments: the arguments of pytest that choose the tests.
        is_long: whether the tests take more than a minute, stock and patched together.
        path: the folder of further modules to import, such as pytest plugins; mostly none.
    """

    distribution: str
    parts: tuple[str, ...] = ("tests",)
    arguments: tuple[str, ...] = ("tests",)
    is_long: bool = False
    path: str = ""


OF_CLIENT = Suite(CLIENT, arguments=("tests/unit", "--ignore=tests/unit/gapic"))


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lazyentity" / "upstream"


def fetch(suite: Suite) -> Path:
    """Return a folder holding the tests in the source distribution of the installed version.

    The folder is outside the checkout and kept between runs. Nothing but the parts that are named
    is unpacked: beside the sources the tests would test those, and not what is installed.
    """
    name = suite.distribution
    version = metadata.version(name)
    folder = _cache() / f"{name}-{version}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        download = Path(scratch, "download")
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--no-binary", name, "--dest", str(download), f"{name}=={version}"),
            ],
            check=True,
        )
        (archive,) = download.iterdir()
        # CPython before 3.11.4 lacks the filters of tarfile. Like these, tar writes nothing
        # outside of the folder.
        tar = shutil.which("tar") or "tar"
        subprocess.run([tar, "-xf", str(archive), "-C", scratch], check=True)
        (sources,) = Path(scratch).glob("*/PKG-INFO")
        unpacked = Path(scratch, "unpacked")
        unpacked.mkdir()
        for part in suite.parts:
            shutil.move(sources.parent / part, unpacked / part)
        unpacked.rename(folder)
    return folder


def stock_outcomes(suite: Suite, folder: Path) -> dict[str, str]:
    """Return each test's outcome without the patch, as the suite gave it in an earlier run, if any.

    Kept beside the tests, outside the checkout, for each version of the interpreter and of all that
    is installed.

    Args:
        suite: the tests.
        folder: as returned by :func:`fetch`.
    """
    installed = sorted(f"{found.name}=={found.version}" for found in metadata.distributions())
    conditions = json.dumps([sys.version, str(folder), suite.arguments, installed])
    stock = _cache() / "stock"
    kept = stock / f"{hashlib.sha256(conditions.encode()).hexdigest()}.json"
    if kept.exists():
        recorded: dict[str, str] = json.loads(kept.read_text())
        return recorded
    stock.mkdir(parents=True, exist_ok=True)
    found = outcomes(suite, folder, patched=False)
    # Concurrent readers see the complete file or none.
    with tempfile.NamedTemporaryFile("w", dir=stock, delete=False) as written:
        json.dump(found, written)
    Path(written.name).rename(kept)
    return found


def outcomes(suite: Suite, folder: Path, *, patched: bool) -> dict[str, str]:
    """Run the tests and return each one's outcome, by its pytest node id.

    Args:
        suite: the tests.
        folder: as returned by :func:`fetch`.
        patched: whether the suite runs with ``lazyentity.patch()`` applied.
    """
    return run_recorded(
        [
            *(sys.executable, "-m", "pytest", *suite.arguments),
            *("-c", os.devnull, "--rootdir", str(folder)),
            *("-q", "-p", "recorder", "-p", "no:cacheprovider"),
        ],
        folder,
        patched=patched,
        path=suite.path,
    )


def run_recorded(
    command: list[str], folder: Path, *, patched: bool, path: str = ""
) -> dict[str, str]:
    """Run a command in a folder, and return the outcomes of tests that it recorded.

    Args:
        command: records as :mod:`tests.upstream.recorder` does.
        folder: to run it in.
        patched: whether it is to patch.
        path: as of a suite.
    """
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch, "outcomes.json")
        environment = dict(os.environ)
        # The suite runs without the settings of this project's tests.
        for name in ("DATASTORE_EMULATOR_HOST", "PYTEST_ADDOPTS", "LAZYENTITY_DISABLE"):
            environment.pop(name, None)
        paths = filter(None, (str(Path(__file__).parent), path))
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        # Names of parametrised tests can come from sets.
        environment["PYTHONHASHSEED"] = "0"
        environment[recorder.OUTCOMES] = str(written)
        if patched:
            environment[recorder.PATCHED] = "1"
        finished = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        # 0: all passed, 1: some failed. Anything else is not a result.
        assert finished.returncode in {0, 1}, finished.stdout + finished.stderr
        assert written.exists(), finished.stdout + finished.stderr
        recorded: dict[str, str] = json.loads(written.read_text())
        return recorded
