"""Contexts of ndb that are still entered when the interpreter exits."""

from __future__ import annotations

from google.cloud.environment_vars import GCD_HOST

from tests.support.subprocesses import run

_ABANDONED = """
import lazyentity.auto
from google.cloud import ndb
from lazyentity.patches.ndb import reads

manager = ndb.Client(project="lazyentity-tests").context()
manager.__enter__()
# As the interpreter empties a module when it exits: private names first.
for name in vars(reads):
    if name.startswith("_") and not name.startswith("__"):
        vars(reads)[name] = None
del manager
"""


def test_abandoned_context_says_nothing() -> None:
    """It is closed after the modules that it is of were emptied."""
    finished = run("-c", _ABANDONED, **{GCD_HOST: "127.0.0.1:1"})
    assert finished.returncode == 0
    assert finished.stderr == ""
