"""Options of ``pytest bench/``."""

from __future__ import annotations

import pytest

from lazyentity.bench.harness import sides
from lazyentity.patches.imports import WhenImported

# These clients need not be installed.
_MODULES = {
    "test_models.py": "google.cloud.ndb",
    "test_appengine.py": "google.appengine.api.datastore",
}
collect_ignore = [
    name
    for name, module in _MODULES.items()
    if not WhenImported(module, lambda: None).is_installed()
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice between the quick cases and all of them."""
    parser.addoption(
        "--all-cases",
        action="store_true",
        help="benchmark every case of the full run, not only those of the quick one",
    )


@pytest.fixture(params=["stock", "lazy"])
def side(request: pytest.FixtureRequest) -> str:
    """A side to time, in a process whose stock side is stock."""
    sides.require_unpatched()
    name: str = request.param
    return name
