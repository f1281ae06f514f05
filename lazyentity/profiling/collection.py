"""Starting and stopping to count: the context manager, and the variable ``LAZYENTITY_PROFILE``."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lazyentity._environment import PROFILE, PROFILE_PROCESS
from lazyentity.profiling import observer
from lazyentity.profiling.counters import ProfileData, Snapshot

if TYPE_CHECKING:
    from lazyentity.profiling.report import Report


class _Collection:
    """The data of the profiles that are running in this process.

    The first profile begins to collect data, the last one ends it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._data = ProfileData()
        self._running = 0

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
                self._data = ProfileData()
            return end

    def now(self) -> Snapshot:
        """Return the counts so far."""
        return self._data.snapshot()

    def begin_anew_in_child(self) -> None:
        """Count, in a forked child, only the entities that the child receives itself."""
        # The thread that held the lock does not exist in the child.
        self._lock = threading.RLock()
        self._data = ProfileData()
        if self._running:
            observer.switch(self._data)


_collection = _Collection()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collection.begin_anew_in_child)


class Profile:
    """The entities received and properties decoded in a part of a program, by all threads.

    >>> with lazyentity.profile() as profile:  # doctest: +SKIP
    ...     handle_requests()
    >>> print(profile.table())  # doctest: +SKIP

    Profiles may overlap and be nested. A running profile can give its report. In a child that is
    forked while the profile runs, it counts the entities that the child receives.
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
        """Return the counts and the advice; while the profile runs, those so far.

        Raises:
            RuntimeError: if the profile was never started.
        """
        from lazyentity.profiling.report import Report

        if self._start is None:
            raise RuntimeError("this profile was never started")
        return Report.from_counts(self._counted or _collection.now().since(self._began()))

    def _began(self) -> Snapshot:
        """Return the counts at the start; a forked child began with no data."""
        start = self._start or Snapshot()
        return start if os.getpid() == self._process else Snapshot(start.seconds)

    def table(self) -> str:
        """Return the :meth:`report` as tables of text."""
        return self.report().table()

    def json(self) -> str:
        """Return the :meth:`report` as JSON."""
        return self.report().json()


def profile() -> Profile:
    """Count the entities that are received, and the properties decoded, in a ``with`` statement.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> client = datastore.Client(project="demo")
    >>> with lazyentity.profile() as counts:
    ...     orders = list(lazyentity.wrap(client).query(kind="Order").fetch(limit=10))
    >>> report = counts.table()

    Only entities that arrive inside the statement count. While no profile runs, nothing is counted.
    """
    return Profile()


_ON = frozenset(("1", "true", "yes", "on"))


def begin() -> None:
    """Count from now on, and report when the interpreter exits: ``LAZYENTITY_PROFILE``.

    The value of the variable is ``1`` for tables on the standard error output, or the path of a
    JSON file, in which ``%p`` stands for the process id. A child process that has received no
    entities reports nothing.
    """
    value = os.environ[PROFILE].strip()
    path = None
    if value.lower() not in _ON:
        path = Path(value.replace("%p", str(os.getpid()))).absolute()
        if path.suffix != ".json" or not path.parent.is_dir():
            warnings.warn(
                f"lazyentity: {PROFILE}={value} is neither 1 nor the path of a .json file in a "
                "folder that exists; the profile goes to the standard error output",
                RuntimeWarning,
                stacklevel=2,
            )
            path = None
    os.environ.setdefault(PROFILE_PROCESS, str(os.getpid()))
    atexit.register(_report, Profile().start(), path)


def _report(running: Profile, path: Path | None) -> None:
    report = running.report()
    if not report.kinds:
        # Children that have nothing to do with Datastore are many.
        if os.environ.get(PROFILE_PROCESS) == str(os.getpid()):
            sys.stderr.write(report.table())
        return
    if path is None:
        sys.stderr.write(report.table())
        return
    try:
        # Names of sources need not be text.
        path.write_text(report.json(), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        sys.stderr.write(f"lazyentity: the profile cannot be written: {error}\n{report.table()}")
