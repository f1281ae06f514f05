"""Connections to the database of a snapshot, as SQLite's locks allow them.

Two rules of https://www.sqlite.org/howtocorrupt.html (2.2 and 2.6) are kept here:

- A process that closes any descriptor of a file loses its locks on it. So nothing but SQLite, which
  knows its locks, opens the database.
- A forked process inherits SQLite's record of the locks, but not the locks. So connections that
  nobody uses are closed before a fork. If others are in use, the child refuses the file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from lazyentity.snapshot.errors import SnapshotError

_BUSY_SECONDS: Final = 60.0
MAX_CELL_BYTES: Final = 32 * 1024 * 1024
"""Bytes of the largest row that is read; a damaged or hostile file can claim to have any."""
REFUSED: Final = (sqlite3.Error, UnicodeDecodeError)
"""Errors of reading a damaged database. Python decodes SQLite's error texts, and these can quote
damaged bytes: https://github.com/python/cpython/blob/3.11/Modules/_sqlite/util.c."""

_Identity = tuple[int, int]


class Connection(sqlite3.Connection):
    """A connection that is closed in the process that made it, and in no other.

    Attributes:
        identity: device and inode of the file.
        process: the id of the process.
        version: of the schema; 0 until it was read.
    """

    identity: _Identity | None = None
    version: int = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.process = os.getpid()
        # Damaged columns of text can hold anything.
        self.text_factory = bytes
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
        _open.add(self)

    def close(self) -> None:
        """Close it; in a forked process this does nothing."""
        if self.process == os.getpid():
            super().close()
            _open.discard(self)

    def rollback(self) -> None:
        """Roll back; in a forked process this does nothing."""
        if self.process == os.getpid():
            super().rollback()


_open: weakref.WeakSet[Connection] = weakref.WeakSet()
# Kept for ever: not even their end may close them.
_inherited: list[Connection] = []
_refused: set[_Identity | None] = set()


def _inherit() -> None:
    for connection in list(_open):
        _inherited.append(connection)
        _refused.add(connection.identity)
    _open.clear()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)


def identity(path: Path) -> _Identity | None:
    """Return device and inode of a file; None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def beside(path: Path, suffix: str) -> Path:
    """Return the path of a file that SQLite keeps beside a database, which may be a link."""
    return Path(os.path.realpath(path) + suffix)


def make(path: Path) -> None:
    """Make a missing file for its owner alone. SQLite gives the files beside it the same mode.

    If that fails, as without hard links, opening the database makes the file, or raises the error.
    """
    real = beside(path, "")
    if real.exists():
        return
    with contextlib.suppress(OSError):
        descriptor, name = tempfile.mkstemp(dir=real.parent, prefix="snapshot-")
        # Before the file has its path: closing it later could end locks of another thread.
        os.close(descriptor)
        try:
            os.link(name, real)
        finally:
            Path(name).unlink()


def connect(path: Path, options: str) -> Connection:
    """Open a database.

    Args:
        path: of the file.
        options: parameters of the URI.

    Raises:
        SnapshotError: the process was forked while its parent used the file.
        sqlite3.Error: it cannot be opened.
    """
    while True:
        file = identity(path)
        if file in _refused and file is not None:
            raise SnapshotError(
                f"{path} was in use when this process was forked, which SQLite does not survive; "
                "end iterations and refreshes before a fork, or start processes by spawn"
            )
        connection = sqlite3.connect(
            f"{Path(os.path.realpath(path)).as_uri()}?{options}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            # Used by one thread at a time, but not always by the same.
            check_same_thread=False,
            factory=Connection,
        )
        connection.identity = identity(path)
        if file in (None, connection.identity):
            return connection
        # A refresh swapped in another file meanwhile.
        connection.close()


def is_in_use(file: _Identity | None) -> bool:
    """Whether a connection of this process has a file open."""
    return any(connection.identity == file for connection in list(_open))


def require_this_process(connection: Connection, path: Path) -> None:
    """Check that a connection was not inherited by a fork.

    Raises:
        SnapshotError: it was.
    """
    if connection.process != os.getpid():
        raise SnapshotError(
            f"an iteration or refresh of {path} cannot go on in a process that was forked during "
            "it; end it before the fork"
        )


@contextlib.contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into errors that name the file.

    Raises:
        SnapshotError: SQLite raised an error.
    """
    try:
        yield
    except REFUSED as error:
        reason = str(error)
        if "locked" in reason:
            reason = (
                f"{reason} for more than {_BUSY_SECONDS:.0f} seconds, as by another refresh; try "
                "again when it has ended"
            )
        elif isinstance(error, UnicodeDecodeError) or "malformed" in reason:
            reason = f"{reason}; write the file anew by refresh(query, replace=True)"
        raise SnapshotError(f"{path} cannot be used: {reason}") from error
