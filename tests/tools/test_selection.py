"""The tests that a further pass leaves out are those that it says."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.conftest import INSTALLED
from tests.support.selection import LOOPBACK_ONCE, OF_CLIENT
from tests.support.subprocesses import run

pytestmark = pytest.mark.any_backend

# A server, a transport and a way to patch, at the beginning of a test's parameters.
_KIND = re.compile(r"(?<=\[)(loopback|small-batches)-(grpc|http)(-patch|-wrap)?")
_KINDS = 8


def _collected(*options: str) -> list[str]:
    """Return the names of the tests that pytest would run."""
    finished = run("-m", "pytest", "--collect-only", "-q", *options)
    assert finished.returncode == 0, finished.stdout
    return [line for line in finished.stdout.splitlines() if "::" in line]


def test_loopback_once() -> None:
    """Each test over a loopback server is left, in one of its kinds; all kinds are left alike."""
    every = _collected("tests/integration")
    once = _collected("tests/integration", LOOPBACK_ONCE)
    assert set(once) < set(every)
    left = Counter(_KIND.sub("", name) for name in once)
    assert left == dict.fromkeys({_KIND.sub("", name) for name in every}, 1)
    kinds = Counter(kind[0] for name in once if (kind := _KIND.search(name)) and kind[3])
    assert len(kinds) == _KINDS
    assert max(kinds.values()) - min(kinds.values()) <= 1


def test_of_client() -> None:
    """Tests of these clients are left, and tests without a client."""
    chosen = [name for name in INSTALLED if "-" not in name][:2]
    left = _collected("tests/patches/clients", *(f"{OF_CLIENT}={name}" for name in chosen))
    subjects = [name.partition("[")[2].partition("-")[0].rstrip("]") for name in left]
    clients = [name.partition(".")[0] for name in subjects]
    assert set(clients) == {"", *chosen}
