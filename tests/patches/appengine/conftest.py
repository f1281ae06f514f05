"""The in-memory services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.patches.appengine.services import lazily, services


@pytest.fixture
def bed() -> Iterator[Any]:
    """Datastore and memcache in memory, for the application ``lazy-app``."""
    with services(datastore=True) as in_memory:
        yield in_memory


@pytest.fixture
def patched() -> Iterator[None]:
    """Lazy reads of App Engine's client."""
    with lazily():
        yield
