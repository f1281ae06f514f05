"""The application of the tests, whose keys need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.appengine.ext import testbed


@pytest.fixture(scope="session", autouse=True)
def _application() -> Iterator[None]:
    # With the session's scope, as hypothesis requires.
    services = testbed.Testbed()
    services.activate()
    services.setup_env(app_id="lazy-app", overwrite=True)
    services.init_memcache_stub()
    services.init_user_stub()
    try:
        yield
    finally:
        services.deactivate()
