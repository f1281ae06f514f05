"""Reading takes no lock: forks, signals and finalizers may come at any point of it."""

from __future__ import annotations

import os

import pytest

from tests.conftest import IMPLEMENTATIONS, INSTALLED
from tests.support import interruption_program
from tests.support.forks import run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("backend", list(IMPLEMENTATIONS))
@pytest.mark.parametrize("client", sorted(interruption_program.READERS.keys() & {*INSTALLED}))
@pytest.mark.parametrize("interruption", ["forks", "signals", "finalizers"])
def test_reads_in_the_middle_of_reads(interruption: str, client: str, backend: str) -> None:
    """Entities with new names are read, wherever the reading of others was interrupted."""
    program = ("-m", interruption_program.__name__, interruption, client)
    finished = run(*program, LAZYENTITY_BACKEND=backend)
    assert finished.returncode == 0, finished.stderr
