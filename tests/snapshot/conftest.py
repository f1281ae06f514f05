"""Snapshots, and the clients of bulk calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazyentity.snapshot import Snapshot
from tests.bulk.conftest import any_client, client, running, service
from tests.snapshot.states import entities_in

__all__ = ["any_client", "client", "path", "running", "service"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A snapshot in the state ``old``."""
    path = tmp_path / "entities with a space?.snapshot"
    Snapshot(path).refresh(entities_in("old"))
    return path
