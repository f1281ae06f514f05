"""Starting and stopping to count, and the profile that a program asks for."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Final, Self

from lazyentity.profiling import metrics, observer
from lazyentity.profiling.counters import ProfileData, Snapshot

if TYPE_CHECKING:
    from lazyentity.profiling.report import Report


_CLIENT: Final = "google.cloud.datastore"


class _Collection:
    """The data of the profiles that are running in this process.

    The first profile begins to collect data, the last one ends it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._data = ProfileData()
        self._running = 0
        self._closed: metrics.Totals = metrics.Totals()

    def enter(self) -> Snapshot:
        """Count from now on; return the counts so far."""
        with self._lock:
            self._running += 1
            if self._running == 1:
                observer.switch(self._data)
            return self.now()

    def leave(self) -> Snapshot:
        """Stop counting, if no other profile runs; return the counts."""
        with self._lock:
            self._running -= 1
            end = self.now()
            if self._running == 0:
                observer.switch(None)
                self._closed = self.totals()
                self._data = ProfileData()
            return end

    def now(self) -> Snapshot:
        """Return the counts so far."""
        return Snapshot.of(self._data)

    def totals(self) -> metrics.Totals:
        """Return the totals of all data of this process."""
        with self._lock:
            return metrics.totals(self.now(), self._closed)

    def begin_anew_in_child(self) -> None:
        """Count, in a forked child, only the entities that the child receives itself."""
        # The thread that held the lock does not exist in the child.
        self._lock = threading.RLock()
        self._data = ProfileData()
        self._closed = metrics.Totals()
        if self._running:
            observer.switch(self._data)


_collection = _Collection()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collection.begin_anew_in_child)


class Profile:
    """The counts of a part of a program, in all of its threads: what it received and decoded.

    >>> with lazyentity.profile() as profile:  # doctest: +SKIP
    ...     handle_requests()
    >>> print(profile.table())  # doctest: +SKIP

    Profiles may overlap, and be inside of each other. A running profile can give its report. In a
    child that is forked while it runs, it counts the entities that the child receives.
    """

    def __init__(self) -> None:
        self._start: Snapshot | None = None
        self._counted: Snapshot | None = None
        self._process = 0

    def start(self) -> Self:
        """Begin to count; the same as entering the context.

        Raises:
            RuntimeError: if the profile was started before.
        """
        if self._start is not None:
            raise RuntimeError("this profile was started before; make another one")
        if _CLIENT in sys.modules:
            # First: the measuring must not be counted, nor timed together with the program.
            importlib.import_module("lazyentity.profiling.costs").measure()
        metrics.register(_collection.totals)
        self._process = os.getpid()
        self._start = _collection.enter()
        return self

    def stop(self) -> None:
        """Stop counting; the same as leaving the context.

        Raises:
            RuntimeError: if the profile does not run.
        """
        if self._start is None or self._counted is not None:
            raise RuntimeError("this profile does not run")
        self._counted = _collection.leave().since(self._began())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def report(self) -> Report:
        """Return the counts and the findings; while the profile runs, those so far.

        Raises:
            RuntimeError: if the profile was never started.
        """
        from lazyentity.profiling.report import Report

        if self._start is None:
            raise RuntimeError("this profile was never started")
        return Report.of(self._counted or _collection.now().since(self._began()))

    def _began(self) -> Snapshot:
        """Return the counts at the start; a forked child began with no data."""
        start = self._start or Snapshot()
        return start if os.getpid() == self._process else Snapshot(start.seconds)

    def table(self) -> str:
        """Return the :meth:`report` as tables for a terminal.

        Raises:
            ImportError: if rich is not installed.
        """
        from lazyentity.profiling.tables import text

        return text(self.report())

    def json(self) -> str:
        """Return the :meth:`report` as JSON."""
        return self.report().json()

    def html(self) -> str:
        """Return the :meth:`report` as an HTML page that needs no other file."""
        from lazyentity.profiling.page import html

        return html(self.report())


def profile() -> Profile:
    """Count what is received and decoded, inside of a ``with`` statement.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> client = datastore.Client(project="demo")
    >>> with lazyentity.profile() as counts:
    ...     orders = list(lazyentity.wrap(client).query(kind="Order").fetch(limit=10))
    >>> report = counts.table()

    Only entities that arrive inside of it count. While no profile runs, nothing is counted.
    """
    return Profile()
