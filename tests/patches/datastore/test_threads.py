"""Many threads that read, while others patch and unpatch."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from tests.patches.conftest import Make, is_stock
from tests.patches.order_program import read
from tests.support.concurrency import together

Client = datastore.Client

THREADS = 32


pytestmark = pytest.mark.usefixtures("frequent_switches")


@contextmanager
def in_the_background(work: Callable[[], object]) -> Iterator[None]:
    """Call ``work`` over and over in another thread, and raise its error."""
    stop = threading.Event()

    def loop() -> int:
        for turns in itertools.count(1):
            work()
            if stop.is_set():
                return turns
        raise AssertionError

    with ThreadPoolExecutor(1) as pool:
        looping = pool.submit(loop)
        try:
            yield
        finally:
            stop.set()
        assert looping.result() > 0


def toggle() -> None:
    lazyentity.patch()
    lazyentity.unpatch()


def test_one_client(make: Make, stock_contents: Any) -> None:
    """32 threads on one client get stock's contents while another thread patches."""
    client = make()
    lazyentity.patch()

    def work(_number: int) -> Any:
        return [read(client) for _ in range(3)]

    with in_the_background(toggle):
        results = together(THREADS, work)
    classes = {name for reads in results for result in reads for name in result["classes"]}
    assert classes <= {"LazyEntity", "Entity"}
    for reads in results:
        assert len(reads) == 3
        assert all(result["contents"] == stock_contents for result in reads)


def test_patching_from_many_threads(make: Make, stock_contents: Any) -> None:
    """patch() and unpatch() may be called by all at once; the originals are never lost."""
    client = make()

    def work(number: int) -> Any:
        for turn in range(20):
            if (number + turn) % 2:
                lazyentity.patch()
            else:
                lazyentity.unpatch()
        return read(client)["contents"] == stock_contents

    # Each of these takes milliseconds, for all clients are patched.
    assert together(8, work) == [True] * 8
    lazyentity.unpatch()
    assert is_stock()
    assert read(client) == {"classes": ["Entity"], "contents": stock_contents}
    lazyentity.patch()
    assert read(client) == {"classes": ["LazyEntity"], "contents": stock_contents}
