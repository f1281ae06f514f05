"""The in-memory services, and the implementations of the index."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity
from tests.conftest import MAPPINGS, is_built

with warnings.catch_warnings():
    # It imports modules that Python has deprecated.
    warnings.simplefilter("ignore")
    from google.appengine.ext import testbed

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
    services = testbed.Testbed()
    services.activate()
    services.setup_env(app_id="lazy-app", overwrite=True)
    services.init_datastore_v3_stub()
    services.init_memcache_stub()
    services.init_user_stub()
    try:
        yield services
    finally:
        services.deactivate()


@pytest.fixture
def patched() -> Iterator[None]:
    """Lazy reads of App Engine's client."""
    lazyentity.patch("appengine", strict=True)
    try:
        yield
    finally:
        lazyentity.unpatch("appengine")
