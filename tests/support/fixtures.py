"""Fixtures of tests in several packages, and what holds for all tests.

- The tests refuse a native backend that was compiled from other sources.
- Tests that need the native backend are skipped with the pure one, and say why.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import lazyentity
from lazyentity.patches.clients import CLIENTS
from tests.support.clients import TRANSPORTS
from tests.support.concurrency import switching_often
from tools import native

# Parameters whose value is the name of each backend in turn.
_OF_EACH_BACKEND = ("lazy_type", "make", "encoder", "backend")

# The tests of a client are in a folder that is named like it.
_PATCHES = Path(__file__).parents[1] / "patches"


def pytest_configure() -> None:
    """Begin with compiled modules that match their sources.

    Raises:
        pytest.UsageError: a source changed after the modules were compiled.
    """
    if native.is_stale():
        raise pytest.UsageError(
            "the sources of the native backend have changed since it was compiled: run make venv"
        )


def pytest_collection_finish() -> None:
    """Begin with what the tests import, which lives as long as the process."""
    leave_to_the_end()


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


@pytest.fixture(scope="session", params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    """The transports of a client of google-cloud-datastore."""
    name: str = request.param
    return name


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Threads take turns as often as the interpreter can let them."""
    with switching_often():
        yield


def leave_to_the_end() -> None:
    """Keep collections of garbage from looking at the objects that there are, for speed."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def earlier_objects() -> Iterator[None]:
    """Limit collections of garbage to the objects of the module's tests."""
    thaw = gc.unfreeze
    leave_to_the_end()
    yield
    thaw()
    leave_to_the_end()


@pytest.fixture
def only_new_objects(earlier_objects: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``earlier_objects``; a benchmark's ``gc.unfreeze()``, which thaws all, does nothing."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
