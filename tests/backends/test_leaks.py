"""Entities leave nothing behind: on every path, those that fail included."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lazyentity.codec.undecoded import UNDECODED
from tests.backends.backends import NATIVE
from tests.backends.malformed import entity_of

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[2]
# The entities of a round of all paths.
COUNTS = [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)]

# Blocks and references that measuring itself needs and free lists keep: far fewer than entities.
SLACK = 100
# Pages that allocators keep for themselves. Each lost array of a wide entity makes a kilobyte.
RESIDENT = 1 << 20


def _leaks(measured: str, grown: int) -> bool:
    return grown > (RESIDENT if measured == "resident" else SLACK)


@pytest.mark.parametrize("count", COUNTS)
def test_no_path_leaks(count: int) -> None:
    """After many entities, memory and the references to shared objects are as before."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.backends.leak_program", str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    growth = json.loads(finished.stdout)
    assert count // len(growth) > 10 * SLACK
    leaks = {
        (path, measured): grown
        for path, grew in growth.items()
        for measured, grown in grew.items()
        if _leaks(measured, grown)
    }
    assert leaks == {}


def test_names_that_never_repeat_are_forgotten() -> None:
    """The memory of names is bounded for any number of names.

    Each name that is remembered is a reference to the sentinel.
    """
    properties = b"".join(entity_of(f"____ {n}") for n in range(200))
    before = sys.getrefcount(UNDECODED)
    names = 0
    for ordinal in range(2_000):
        entity = NATIVE.from_bytes(properties.replace(b"____", b"%04d" % ordinal))
        names += len(entity)
    assert names == 400_000
    assert sys.getrefcount(UNDECODED) - before < 200_000
