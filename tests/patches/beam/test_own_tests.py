"""Beam's own tests of its connector, which are in its wheel, stock and patched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from apache_beam.io.gcp.datastore.v1new import datastoreio

from tests.support.subprocesses import clean_environment
from tests.upstream import recorder

_CONNECTOR = Path(datastoreio.__file__).parent
_MODULES = (
    "datastoreio_test",
    "query_splitter_test",
    "rampup_throttling_fn_test",
    "types_test",
    "util_test",
)


def _outcomes(folder: Path, **environment: str) -> dict[str, str]:
    """Run the tests; return each one's outcome by its name."""
    written = folder / "outcomes.json"
    environment |= {
        "PYTHONPATH": str(Path(recorder.__file__).parent),
        recorder.OUTCOMES: str(written),
    }
    modules = [str(_CONNECTOR / f"{module}.py") for module in _MODULES]
    options = ["-c", os.devnull, "--rootdir", str(_CONNECTOR), "-q", "-p", "recorder"]
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", *modules],
        **clean_environment(**environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode in {0, 1}, finished.stdout + finished.stderr
    recorded: dict[str, str] = json.loads(written.read_text())
    return recorded


def test_same_outcomes(tmp_path: Path) -> None:
    stock = _outcomes(tmp_path)
    for module in _MODULES:
        assert any(
            name.startswith(module) and outcome == "passed" for name, outcome in stock.items()
        ), module
    patched = _outcomes(tmp_path, **{recorder.PATCHED: "1"})
    assert patched == stock
