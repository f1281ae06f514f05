"""Beam's own tests of its connector, which are in its wheel, stock and patched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from apache_beam.io.gcp.datastore.v1new import datastoreio

from tests.upstream import suite

pytestmark = pytest.mark.upstream

_CONNECTOR = Path(datastoreio.__file__).parent
_MODULES = (
    "datastoreio_test",
    "query_splitter_test",
    "rampup_throttling_fn_test",
    "types_test",
    "util_test",
)


def test_same_outcomes(tmp_path: Path) -> None:
    modules = [str(_CONNECTOR / f"{module}.py") for module in _MODULES]
    options = ["-c", os.devnull, "--rootdir", str(_CONNECTOR), "-q", "-p", "recorder"]
    command = [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", *modules]
    # Not in the connector's folder, whose modules are named like some of Python's.
    stock, patched = (
        suite.run_recorded(command, tmp_path, patched=patched) for patched in (False, True)
    )
    for module in _MODULES:
        assert any(
            name.startswith(module) and outcome == "passed" for name, outcome in stock.items()
        ), module
    assert patched == stock
