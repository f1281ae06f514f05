from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _for_small_lines(only_new_objects: None, kept_servers: None) -> None:
    """Measuring begins with a collection, and mostly with a server."""
