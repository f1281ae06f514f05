"""Entities that cannot be part of a reference cycle are left to their reference counts."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

from tests.backends.backends import NATIVE
from tests.support.strategies.samples import serialise

pytestmark = pytest.mark.any_backend

TRACKS_ALL = sys.version_info >= (3, 14)
"""Whether CPython tracks each dict from the start."""


def test_entities_of_scalars_are_not_tracked() -> None:
    """The collector gets to know an entity with its first value that refers to others."""
    entity: Any = NATIVE.from_bytes(serialise({"text": "t", "number": 1, "inner": {"deep": 1}}))
    assert gc.is_tracked(entity) is TRACKS_ALL
    assert (entity["text"], entity["number"]) == ("t", 1)
    entity["text"] = "another"
    assert gc.is_tracked(entity) is TRACKS_ALL
    inner = entity["inner"]
    assert gc.is_tracked(entity)
    assert inner["deep"] == 1
    assert gc.is_tracked(inner) is TRACKS_ALL
    assert inner.key is None
    assert gc.is_tracked(inner)
