from __future__ import annotations

import warnings
from typing import Any

import pytest

from lazyentity import search
from lazyentity.patches import adapters
from lazyentity.pure.search import EntityFinder


@pytest.fixture
def adapted() -> None:
    """The adapters of the imported libraries are there in this test.

    They stay, as in an application: a test that needs a library without one removes them.
    """
    with warnings.catch_warnings():
        # Other tests may have imported functions that are adapted here.
        warnings.simplefilter("ignore")
        adapters.install()


@pytest.fixture(params=["chosen", "pure"])
def walk(request: pytest.FixtureRequest) -> Any:
    """The finder of entities of the backend, and the pure one."""
    return search._chosen if request.param == "chosen" else search._finder_of(EntityFinder)
