"""Keeps patch() from looking for old references in the libraries that are installed for the tests.

These are two thousand modules. Looking into all of them takes fifteen times as long as the rest of
``patch()``, which most tests call, and no library imports a function of a client by name. The
modules of lazyentity are never reported. Processes that tests start look into all modules, and so
does a test in :mod:`tests.patches.test_registry`.
"""

from __future__ import annotations

import sysconfig
from types import ModuleType

import pytest

from lazyentity.patches import registry

all_modules = registry.loaded_modules

_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
# The namespace packages of clients.
_OF_CLIENTS = ("google.cloud.", "google.appengine.")
_looked_into: dict[str, bool] = {}


def _is_looked_into(name: str, module: ModuleType) -> bool:
    """Return whether a module is of a client, or of no library."""
    if name.startswith(_OF_CLIENTS):
        return True
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None) or ""
    return (
        name.partition(".")[0] != "lazyentity"
        and origin not in ("built-in", "frozen")
        and not origin.startswith(_LIBRARIES)
    )


def modules_of_the_tests() -> list[tuple[str, ModuleType]]:
    """Return the modules of clients and of the tests."""
    found = []
    for name, module in all_modules():
        if name not in _looked_into:
            _looked_into[name] = _is_looked_into(name, module)
        if _looked_into[name]:
            found.append((name, module))
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Narrow the search."""
    registry.loaded_modules = modules_of_the_tests
