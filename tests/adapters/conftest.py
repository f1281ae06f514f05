from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lazyentity import search
from lazyentity.pure.search import EntityFinder
from tests.adapters.uses import installed


@pytest.fixture
def adapted() -> Iterator[None]:
    """The adapters of the imported libraries are there in this test."""
    with installed():
        yield


@pytest.fixture(scope="module")
def adapted_throughout() -> Iterator[None]:
    """They are there until the last test of the module."""
    with installed():
        yield


@pytest.fixture(params=["chosen", "pure"])
def walk(request: pytest.FixtureRequest) -> Any:
    """The finder of entities of the backend, and the pure one."""
    return search._chosen if request.param == "chosen" else search._finder_of(EntityFinder)
