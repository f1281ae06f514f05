from __future__ import annotations

import pytest

from tests.profiling.receiving import BACKENDS


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn, whichever is chosen."""
    name: str = request.param
    return name
