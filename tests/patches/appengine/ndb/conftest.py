"""The application of the tests, whose keys need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.patches.appengine.services import services


@pytest.fixture(scope="session", autouse=True)
def _application() -> Iterator[None]:
    # With the session's scope, as hypothesis requires.
    with services(datastore=False):
        yield
