"""Writing a snapshot anew, in a file beside it, which then takes its place.

SQLite copies the new file over the old one in one transaction, whatever is in its pages. So it is
atomic, and the locks of readers hold. To rename a file over one in use would break them, as 2.4 of
https://www.sqlite.org/howtocorrupt.html says. That is left for an old file that SQLite itself
cannot open, as if its head is damaged: it has no readers.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lazyentity.snapshot import schema
from lazyentity.snapshot.connections import (
    REFUSED,
    Connection,
    beside,
    clear_errors,
    connect,
    identity,
    is_in_use,
    make,
)
from lazyentity.snapshot.errors import SnapshotError
from lazyentity.snapshot.files import (
    CACHE,
    PAGE_SIZE,
    empty_journal,
    is_empty,
    is_prepared,
    writing,
)
from lazyentity.snapshot.journals import write_state

_SUFFIX: Final = "-lazyentity-new"
_JOURNALS: Final = ("-wal", "-shm", "-journal")
_HEAD_BYTES: Final = 256 * 1024
_MODE_AT: Final = 18
_WAL_MODE: Final = b"\x02\x02"
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

_kept: list[int] = []
"""Descriptors that may not be closed while SQLite has locks on their files."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Connection]:
    """Open a transaction that writes an empty file, which takes the place of a snapshot in the end.

    An error leaves the old file as it is. A process that is killed leaves the new file beside it,
    whose name ends with ``-lazyentity-new``; the next call deletes it.

    Raises:
        SnapshotError: the file is not a snapshot, or is newer, or cannot be written.
    """
    with clear_errors(path):
        if not _is_something(path):
            with writing(path) as connection:
                yield connection
            return
        with _exclusive(beside(path, _SUFFIX)) as connection:
            schema.make_tables(connection)
            yield connection
            write_state(connection, had_journal=True)
            connection.execute("COMMIT")
            try:
                _copy(connection, path)
            except REFUSED as error:
                if "locked" in str(error) or not os.access(path, os.W_OK):
                    raise
                _swap(path)


def _is_something(path: Path) -> bool:
    """Check that a file is a snapshot, damaged or not; False if it is missing or empty.

    Raises:
        SnapshotError: it is foreign or newer.
    """
    if not path.exists() or is_empty(path):
        return False
    try:
        with contextlib.closing(connect(path, "mode=ro&immutable=1")) as connection:
            marks = schema.read_marks(connection)
    except REFUSED as error:
        if "unable to open" in str(error):
            raise
        if not schema.has_traces(_head(path)):
            raise SnapshotError(
                f"{path} is not a snapshot, or so damaged that nothing shows it; if it is one, "
                "delete it with its -wal and -shm files, and save it again"
            ) from error
        return True
    if schema.is_snapshot(marks) or schema.require_marks(path, marks):
        return True
    # The tables of a new file can be in its journal.
    with contextlib.closing(connect(path, "mode=ro")) as connection:
        return is_prepared(connection, path)


def _head(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return os.read(descriptor, _HEAD_BYTES)
    finally:
        # Closing it would end the locks of this process.
        if is_in_use(identity(path)):
            _kept.append(descriptor)
        else:
            os.close(descriptor)


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[Connection]:
    """Make a file, lock it, and begin a transaction; the file is deleted in the end.

    Waits for another process that does the same.
    """
    connection = _taken(path)
    try:
        yield connection
    finally:
        # Before it is unlocked, unless it was moved, or this is a process that was forked.
        if connection.process == os.getpid() and identity(path) == connection.identity:
            _delete(path)
        connection.close()


def _taken(path: Path) -> Connection:
    while True:
        make(path)
        connection = connect(path, "mode=rwc")
        try:
            for statement in (CACHE, PAGE_SIZE, "PRAGMA locking_mode = EXCLUSIVE"):
                connection.execute(statement)
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            # Only killed processes leave such files behind.
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                connection.close()
                raise
            _delete(path)
        else:
            if identity(path) == connection.identity:
                if not path.stat().st_size:
                    return connection
                _delete(path)
        connection.close()


def _delete(path: Path) -> None:
    for suffix in (*_JOURNALS, ""):
        beside(path, suffix).unlink(missing_ok=True)


def _copy(connection: Connection, path: Path) -> None:
    """Copy a database over another one, in one transaction.

    Raises:
        sqlite3.Error: SQLite cannot open the other one.
    """

    def wait(status: int, *_: int) -> None:
        # It came after SQLite's own time to wait; Python would try again without end.
        if status in _BUSY:
            raise sqlite3.OperationalError("database is locked")

    with contextlib.closing(connect(path, "mode=rw")) as target:
        target.execute(CACHE)
        connection.backup(target, progress=wait)
        empty_journal(target)
    with contextlib.closing(connect(path, "mode=ro")) as target:
        is_prepared(target, path)


def _swap(path: Path) -> None:
    """Rename the new file over a file that SQLite cannot open."""
    source, target = beside(path, _SUFFIX), beside(path, "")
    with source.open("r+b") as file:
        # In a file with another mode, readers would hinder the next refresh. The bytes are from
        # https://www.sqlite.org/fileformat.html#file_format_version_numbers.
        file.seek(_MODE_AT)
        file.write(_WAL_MODE)
        file.flush()
        os.fsync(file.fileno())
        if os.name == "posix":
            status = target.stat()
            with contextlib.suppress(PermissionError):
                os.chown(source, status.st_uid, status.st_gid)
            source.chmod(stat.S_IMODE(status.st_mode))
        for suffix in _JOURNALS:
            beside(path, suffix).unlink(missing_ok=True)
        # Closing the file ends the lock that no other process may have before this.
        source.replace(target)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
