"""Connections that read a snapshot, each used by one thread at a time."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lazyentity.snapshot.connections import (
    REFUSED,
    Connection,
    beside,
    clear_errors,
    connect,
    identity,
)
from lazyentity.snapshot.errors import SnapshotError
from lazyentity.snapshot.files import CACHE, is_prepared, require_own
from lazyentity.snapshot.journals import has_journal, require_own_journal
from lazyentity.snapshot.payloads import Decompressor
from lazyentity.snapshot.schema import bounded

_DICTIONARY_BYTES: Final = 1024 * 1024
_DICTIONARIES: Final = f"SELECT number, {bounded('data', _DICTIONARY_BYTES)} FROM dictionaries"  # noqa: S608  # constants


class Reader:
    """A connection that reads, and the decompression for it. One thread may use it at a time.

    Attributes:
        path: of the file.
        connection: the connection.
        decompressor: knows the dictionaries of the file.
        damaged: how many damaged entities were met.
        close: closes the connection; called in the end, if nobody calls it before.

    Raises:
        SnapshotError: the file is missing, foreign, newer or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_immutable = False
        self.decompressor = Decompressor({})
        self.damaged = 0
        self._changes: int | None = None
        with clear_errors(path):
            try:
                has_content = require_own(path)
            except FileNotFoundError:
                raise SnapshotError(f"there is no snapshot {path}; save one first") from None
            if not has_content:
                raise self._empty()
            self.connection = self._current()
        self.close = weakref.finalize(self, self.connection.close)

    def _empty(self) -> SnapshotError:
        return SnapshotError(
            f"{self.path} is empty: its first refresh has not ended; wait for it, or refresh again"
        )

    def _current(self) -> Connection:
        """Open the file that has the path, also if a refresh swaps in another one meanwhile."""
        while True:
            self._file = identity(self.path)
            connection = self._opened()
            try:
                require_own_journal(self.path, connection)
                if not is_prepared(connection, self.path):
                    raise self._empty()
            except (SnapshotError, *REFUSED):
                connection.close()
                if identity(self.path) == self._file:
                    raise
                continue
            except BaseException:
                connection.close()
                raise
            if identity(self.path) == self._file:
                return connection
            connection.close()

    def _opened(self) -> Connection:
        connection = connect(self.path, "mode=ro")
        try:
            connection.execute(CACHE)
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        except BaseException as error:
            # Collected without this, a connection warns, from Python 3.13 on.
            connection.close()
            # Reading beside a writer needs files beside this one, which a read-only folder lacks.
            # Nobody can write there, unless a journal says otherwise.
            folder = beside(self.path, "").parent
            if (
                not isinstance(error, sqlite3.Error)
                or os.access(folder, os.W_OK)
                or has_journal(self.path)
            ):
                raise
            self._is_immutable = True
            connection = connect(self.path, "mode=ro&immutable=1")
        return connection

    def load(self) -> None:
        """Learn the version and the dictionaries, if a refresh wrote. Called in a transaction."""
        ((changes,),) = self.connection.execute("PRAGMA data_version")
        if changes != self._changes:
            # A refresh may have written the file anew: dictionaries of the same numbers, too.
            is_prepared(self.connection, self.path)
            self.decompressor = Decompressor(dict(self.connection.execute(_DICTIONARIES)))
            self._changes = changes

    def is_current(self) -> bool:
        """Whether the connection is of this process, and of the file that has the path now."""
        if self._is_immutable or self.connection.process != os.getpid():
            return False
        return self._file == identity(self.path)


_all_readers: weakref.WeakValueDictionary[int, Readers] = weakref.WeakValueDictionary()
"""By their ids: a set cannot be copied while another thread adds to it."""


def _close_unused() -> None:
    for reference in _all_readers.valuerefs():
        readers = reference()
        if readers is not None:
            readers.close()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_unused)


class Readers:
    """The open readers of a file that nobody uses. Any thread may ask for one.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # Without a lock, which a fork could leave locked for ever: its methods are atomic.
        self._free: list[Reader] = []
        _all_readers[id(self)] = self

    def __reduce__(self) -> tuple[type[Readers], tuple[Path]]:
        # A copy has no readers, which neither threads nor processes can share.
        return type(self), (self._path,)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Reader]:
        """Give a reader that sees one state of the file.

        Raises:
            SnapshotError: as for :class:`Reader`, or the file cannot be read.
        """
        reader = self._take()
        try:
            with clear_errors(self._path):
                reader.connection.execute("BEGIN")
                reader.load()
                yield reader
                reader.connection.execute("ROLLBACK")
        except BaseException:
            reader.close()
            raise
        self._free.append(reader)

    def _take(self) -> Reader:
        while self._free:
            try:
                reader = self._free.pop()
            except IndexError:
                # Another thread was faster.
                break
            if reader.is_current():
                return reader
            reader.close()
        return Reader(self._path)

    def close(self) -> None:
        """Close the readers that nobody uses."""
        free, self._free = self._free, []
        for reader in free:
            reader.close()
