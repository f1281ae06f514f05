"""Keeps patch() from looking for old references in the libraries that are installed for the tests.

These are two thousand modules. Looking into all of them takes fifteen times as long as the rest of
``patch()``, which most tests call, and no library imports a function of a client by name. Processes
that tests start look into all modules, and so does a test in :mod:`tests.patches.test_registry`.
"""

from __future__ import annotations

import sysconfig
from types import ModuleType

import pytest

from lazyentity.patches import registry

all_modules = registry.loaded_modules

_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
_is_library: dict[str, bool] = {}


def _is_of_a_library(name: str, module: ModuleType) -> bool:
    """Return whether a module is of a library that is neither a client nor of a client."""
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None) or ""
    return not name.startswith("google.") and (
        origin in ("built-in", "frozen") or origin.startswith(_LIBRARIES)
    )


def modules_of_the_tests() -> list[tuple[str, ModuleType]]:
    """Return the modules of clients, of lazyentity, and of the tests."""
    found = []
    for name, module in all_modules():
        if name not in _is_library:
            _is_library[name] = _is_of_a_library(name, module)
        if not _is_library[name]:
            found.append((name, module))
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Narrow the search."""
    registry.loaded_modules = modules_of_the_tests
