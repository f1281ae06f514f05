"""Fetches and runs the unit tests that google-cloud-datastore ships in its source distribution."""

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

from tests.upstream import recorder

CLIENT = "google-cloud-datastore"


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lazyentity" / "upstream"


def fetch() -> Path:
    """Return a folder holding ``tests/`` of the installed client's source distribution.

    The folder is outside the checkout and kept between runs. Nothing but the tests is unpacked:
    beside the client's sources they would test those, and not the client that is installed.
    """
    version = metadata.version(CLIENT)
    folder = _cache() / version
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        download = Path(scratch, "download")
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--no-binary", CLIENT, "--dest", str(download), f"{CLIENT}=={version}"),
            ],
            check=True,
        )
        (archive,) = download.iterdir()
        # CPython before 3.10.12 and 3.11.4 lacks the filters of tarfile. Like these, tar writes
        # nothing outside of the folder.
        tar = shutil.which("tar") or "tar"
        subprocess.run([tar, "-xf", str(archive), "-C", scratch], check=True)
        (tests,) = Path(scratch).glob("*/tests")
        unpacked = Path(scratch, "unpacked")
        unpacked.mkdir()
        shutil.move(tests, unpacked / "tests")
        unpacked.rename(folder)
    return folder


def stock_outcomes(folder: Path) -> dict[str, str]:
    """Return each test's outcome without the patch, as the suite gave it in an earlier run, if any.

    Kept beside the tests, outside the checkout, for each version of the interpreter and of all that
    is installed.

    Args:
        folder: as returned by :func:`fetch`.
    """
    installed = sorted(f"{found.name}=={found.version}" for found in metadata.distributions())
    conditions = json.dumps([sys.version, str(folder), installed])
    stock = _cache() / "stock"
    kept = stock / f"{hashlib.sha256(conditions.encode()).hexdigest()}.json"
    if kept.exists():
        recorded: dict[str, str] = json.loads(kept.read_text())
        return recorded
    stock.mkdir(parents=True, exist_ok=True)
    found = outcomes(folder, patched=False)
    # Concurrent readers see the complete file or none.
    with tempfile.NamedTemporaryFile("w", dir=stock, delete=False) as written:
        json.dump(found, written)
    Path(written.name).rename(kept)
    return found


def outcomes(folder: Path, *, patched: bool) -> dict[str, str]:
    """Run the suite outside gapic and return each test's outcome, by its pytest node id.

    Args:
        folder: as returned by :func:`fetch`.
        patched: whether the suite runs with ``lazyentity.patch()`` applied.
    """
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch, "outcomes.json")
        environment = dict(os.environ)
        # The suite runs without the settings of this project's tests.
        for name in ("DATASTORE_EMULATOR_HOST", "PYTEST_ADDOPTS", "LAZYENTITY_DISABLE"):
            environment.pop(name, None)
        environment["PYTHONPATH"] = str(Path(__file__).parent)
        environment[recorder.OUTCOMES] = str(written)
        if patched:
            environment[recorder.PATCHED] = "1"
        finished = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "tests/unit", "--ignore=tests/unit/gapic"),
                *("-c", os.devnull, "--rootdir", str(folder)),
                *("-q", "-p", "recorder", "-p", "no:cacheprovider"),
            ],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        # 0: all passed, 1: some failed. Anything else is not a result.
        assert finished.returncode in {0, 1}, finished.stdout + finished.stderr
        recorded: dict[str, str] = json.loads(written.read_text())
        return recorded
