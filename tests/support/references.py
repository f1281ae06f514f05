"""Keeps patch() from looking for old references in the process of the tests.

Looking into the modules that are loaded here, some two thousand, takes fifteen times as long as the
rest of ``patch()``, which most tests call. Processes that tests start look into theirs, and so do
tests with the fixture :func:`searched_modules`.
"""

from __future__ import annotations

from types import ModuleType

import pytest

from lazyentity.patches import registry

_loaded_modules = registry.loaded_modules


def _no_modules() -> list[tuple[str, ModuleType]]:
    return []


def pytest_configure(config: pytest.Config) -> None:
    """End the search before it begins."""
    registry.loaded_modules = _no_modules


@pytest.fixture
def searched_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look into every module."""
    monkeypatch.setattr(registry, "loaded_modules", _loaded_modules)
