from __future__ import annotations

from collections.abc import Iterator

import pytest

from lazyentity.patches import adapters


@pytest.fixture
def adapted() -> Iterator[None]:
    """The adapters are there in this test, and not afterwards."""
    adapters.install()
    yield
    adapters.remove()
