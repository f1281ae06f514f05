"""A reader crosses few files from a call to its result."""

from __future__ import annotations

import json

import pytest

from tests.support.subprocesses import run

MOST_FILES = {
    # Two of them make the request, which is sent as bytes.
    'a query, entity["amount"]': 12,
    "get and put of a changed entity": 24,
    "a fetch of ndb, order.amount": 20,
}


@pytest.mark.any_backend
def test_no_walk_becomes_longer() -> None:
    """The numbers here may only fall."""
    counted = run("-m", "tests.tools.walks", "--json", warnings="ignore")
    assert counted.returncode == 0, counted.stderr
    walks = json.loads(counted.stdout)
    files = {walk: len({file for file, _ in functions}) for walk, functions in walks.items()}
    assert files == MOST_FILES
