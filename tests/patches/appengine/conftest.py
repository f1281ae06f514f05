"""The in-memory services, and the implementations of the index."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import MAPPINGS, is_built
from tests.patches.appengine.services import lazily, services

INDEXES = {
    name: importlib.import_module(f"lazyentity.{name}.entityproto").PropertyIndex
    for name, module in MAPPINGS.items()
    if is_built(module)
}


@pytest.fixture(scope="session", params=list(INDEXES))
def index_type(request: pytest.FixtureRequest) -> Any:
    """Each implementation in turn. Session scope, as hypothesis requires of a fixture."""
    return INDEXES[request.param]


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
