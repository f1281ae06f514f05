"""Tests that need the native backend are skipped with the pure one, and say why."""

from __future__ import annotations

from pathlib import Path

import pytest

import lazyentity
from lazyentity.patches.clients import CLIENTS

# Parameters whose value is the name of each backend in turn.
_OF_EACH_BACKEND = ("lazy_type", "make", "encoder", "backend")

# The tests of a client are in a folder that is named like it.
_PATCHES = Path(__file__).parents[1] / "patches"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the pure backend that needs the native one.

    That is a test with the mark ``needs_native``, which has a reason; and one of a client that
    stays stock.
    """
    callspec = getattr(item, "callspec", None)
    parameters = {} if callspec is None else callspec.params
    mark = item.get_closest_marker("needs_native")
    if mark is not None:
        in_turn = [parameters.get(name) for name in _OF_EACH_BACKEND]
        tested = next((each for each in in_turn if each in ("native", "pure")), lazyentity.backend)
        if tested == "pure":
            pytest.skip(f"needs the native backend: {mark.args[0]}")
    name = str(parameters.get("subject", "")).partition(".")[0]
    if _PATCHES in item.path.parents:
        name = name or item.path.relative_to(_PATCHES).parts[0].replace("_", "-")
    if name in CLIENTS and CLIENTS[name].lacks_native():
        pytest.skip(f"needs the native backend: {name} stays stock without it")
