from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import lazyentity
from lazyentity import LazyEntity
from lazyentity.entity import lazy_entity_type
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.imports import WhenImported

pytest_plugins = [
    "tests.support.selection",
    "tests.support.fixtures",
    "tests.support.servers",
]

# Many assertions are in helpers, which fail without the values unless pytest rewrites them, too.
_PACKAGES = [found.parent.name for found in Path(__file__).parent.glob("*/__init__.py")]
pytest.register_assert_rewrite(*(f"{__package__}.{name}" for name in _PACKAGES))

# Modules with an implementation of the mapping. One that was not built is not there; one that was
# built has to load.
MAPPINGS = {"pure": "lazyentity.pure.mapping", "native": "lazyentity.native.entities"}

# The clients that are extras need not be installed.
INSTALLED = [
    client.name
    for client in CLIENTS.values()
    if WhenImported(client.waits_for_import, lambda: None).is_installed()
]
HAS_NDB = "ndb" in INSTALLED
collect_ignore = [f"patches/{name.replace('-', '_')}" for name in CLIENTS if name not in INSTALLED]

# The machines that run this differ widely in speed, and no test here is about time.
settings.register_profile("default", deadline=None, max_examples=100, print_blob=True)
settings.register_profile("ci", deadline=None, max_examples=1000, print_blob=True)
# Hypothesis by itself would choose "ci" where the variable CI is set; here it has to be asked for.
settings.load_profile("default")


def is_built(module: str) -> bool:
    """Whether there is a module, which may be compiled."""
    return importlib.util.find_spec(module) is not None


def _implementations() -> dict[str, type[LazyEntity]]:
    types = {
        name: lazy_entity_type(importlib.import_module(module).LazyMapping)
        for name, module in MAPPINGS.items()
        if is_built(module)
    }
    types[lazyentity.backend] = LazyEntity
    return types


IMPLEMENTATIONS = _implementations()
BACKENDS: dict[str, Any] = {
    name: importlib.import_module(f"lazyentity.{name}.backend")
    for name, mapping in MAPPINGS.items()
    if is_built(mapping)
}
"""The functions of each backend that was built."""


def pytest_report_header() -> list[str]:
    """Say what is the default and what is installed, so that a log shows what was tested."""
    tested = ", ".join(IMPLEMENTATIONS)
    return [
        f"lazyentity backend: {lazyentity.backend} (under test: {tested})",
        *(
            f"{client.distribution}: {client.version() or 'not installed'}"
            for client in CLIENTS.values()
        ),
    ]


@pytest.fixture(scope="session", params=list(IMPLEMENTATIONS))
def lazy_type(request: pytest.FixtureRequest) -> type[LazyEntity]:
    """Each implementation in turn. Session scope, as hypothesis requires of a fixture."""
    return IMPLEMENTATIONS[request.param]


@pytest.fixture(scope="session", params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    """The name of each backend in turn. Session scope, as hypothesis requires of a fixture."""
    name: str = request.param
    return name
