"""Reads entities with ever new names, and is interrupted meanwhile by further such reads.

``python -m tests.support.interruption_program INTERRUPTION CLIENT``. If a read waits for the
interrupted code, the program stops at its deadline and prints the stack of each thread.
"""

from __future__ import annotations

import faulthandler
import functools
import gc
import itertools
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from google.cloud import datastore
from google.cloud.datastore import helpers

from lazyentity import LazyEntity

DEADLINE_SECONDS = 60
CHILD_SECONDS = 10
FORKS = 100
TIMES = 1000

Read = Callable[[bytes], None]

_numbers = itertools.count()


def _new_entity() -> bytes:
    """Return an entity of the kind ``Kind`` with two names that no other has."""
    entity = datastore.Entity(datastore.Key("Kind", 1, project="p"))
    name = f"of {os.getpid()}, {next(_numbers)}"
    entity.update({f"one {name}": 7, f"two {name}": 7})
    raw: bytes = helpers.entity_to_protobuf(entity)._pb.SerializeToString()
    return raw


def read_new(read: Read) -> None:
    """Read an entity of new names until these are learned and used."""
    raw = _new_entity()
    for _ in range(3):
        read(raw)


def datastore_reader() -> Read:
    """Return a function that reads an entity."""

    def read(raw: bytes) -> None:
        assert list(LazyEntity.from_bytes(raw).values()) == [7, 7]

    return read


@functools.cache
def _expando() -> Any:
    from google.cloud import ndb

    from lazyentity.patches.ndb.seams import CLIENT

    CLIENT.patch.apply()
    return type("Kind", (ndb.Expando,), {})


def ndb_reader() -> Read:
    """Return a function that reads a model, in this thread and those that handle its signals."""
    from google.cloud.ndb import model

    from tests.patches.models.pairs import is_lazy
    from tests.patches.ndb import pairs

    _expando()
    pairs.CLIENT.context().__enter__()

    def read(raw: bytes) -> None:
        made = model._entity_from_protobuf(pairs.received(raw))
        assert is_lazy(made)
        assert [getattr(made, name) for name in made._properties] == [7, 7]

    return read


READERS: dict[str, Callable[[], Read]] = {"datastore": datastore_reader, "ndb": ndb_reader}


def forks(reader: Callable[[], Read]) -> None:
    """Fork again and again while other threads read; each child reads as well."""
    warnings.filterwarnings("ignore", ".*multi-threaded.*", DeprecationWarning)
    sys.setswitchinterval(1e-6)
    is_forking = threading.Event()
    is_done = threading.Event()

    def churn() -> None:
        read = reader()
        while not is_done.is_set():
            is_forking.wait()
            read_new(read)

    read = reader()
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for number in range(FORKS):
            is_forking.set()
            # As long as a few reads take.
            time.sleep(random.random() / 500)
            child = os.fork()
            if child == 0:
                signal.alarm(CHILD_SECONDS)
                read_new(read)
                os._exit(0)
            is_forking.clear()
            _, status = os.waitpid(child, 0)
            assert status == 0, f"child {number} ended with {status}"
    finally:
        is_done.set()
        is_forking.set()
        thread.join()


def signals(reader: Callable[[], Read]) -> None:
    """Handle signals at random points of reading; the handler reads as well."""
    read = reader()
    handled = 0

    def handle(_signal: int, _frame: object) -> None:
        nonlocal handled
        handled += 1
        read_new(read)
        if handled < TIMES:
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + random.random() / 2000)

    signal.signal(signal.SIGALRM, handle)
    handle(0, None)
    while handled < TIMES:
        read_new(read)


def finalizers(reader: Callable[[], Read]) -> None:
    """Have garbage collected at each allocation that may do so; its finalizers read as well."""
    read = reader()
    is_reading = False

    class Garbage:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            nonlocal is_reading
            if not is_reading:
                is_reading = True
                read_new(read)
                is_reading = False

    gc.freeze()
    for number in range(TIMES // 4):
        raw = _new_entity()
        for _ in range(3):
            Garbage()
            gc.set_threshold(1 + number % 7)
            read(raw)
            gc.set_threshold(0)


def main(interruption: str, client: str) -> None:
    """Run one of the functions above."""
    faulthandler.dump_traceback_later(DEADLINE_SECONDS, exit=True)
    {"forks": forks, "signals": signals, "finalizers": finalizers}[interruption](READERS[client])
    # Not by returning: the exit handlers of ndb and gRPC are not tested here.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
