"""Fixtures of tests in several packages."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.support.clients import TRANSPORTS
from tests.support.concurrency import switching_often


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


def pytest_collection_finish() -> None:
    """Begin with what the tests import, which lives as long as the process."""
    leave_to_the_end()


@pytest.fixture
def only_new_objects() -> None:
    """Limit collections of garbage to the objects of the test, and of those after it."""
    leave_to_the_end()


@pytest.fixture(scope="session")
def stock_process() -> Iterator[ProcessPoolExecutor]:
    """A process that never imports lazyentity."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool
