"""The file of a snapshot, a SQLite database in WAL mode: opening it, and writing to it."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from lazyentity.snapshot.connections import (
    REFUSED,
    Connection,
    clear_errors,
    connect,
    identity,
    make,
)
from lazyentity.snapshot.errors import SnapshotError
from lazyentity.snapshot.journals import (
    has_journal,
    is_unmade,
    require_own_journal,
    write_state,
)
from lazyentity.snapshot.schema import (
    APPLICATION_ID,
    PAGE_BYTES,
    SCHEMA_VERSION,
    make_tables,
    read_marks,
    require_marks,
)

_WAL_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.01
CACHE: Final = "PRAGMA cache_size = -16384"
# Of a new file. A page of the default size has room for few contents, and waste.
PAGE_SIZE: Final = f"PRAGMA page_size = {PAGE_BYTES}"


class Refreshed(NamedTuple):
    """The outcome of a refresh, in entities.

    Attributes:
        added: new keys.
        changed: keys whose content changed.
        unchanged: keys whose content is as before; nothing was written for them.
        removed: keys that the query does not return any more.
    """

    added: int
    changed: int
    unchanged: int
    removed: int


def is_empty(path: Path) -> bool:
    """Whether a file has nothing in it yet.

    Raises:
        SnapshotError: it is foreign.
    """
    size = path.stat().st_size
    if size == 1:
        # SQLite takes it for an empty file, because it makes such ones itself on some systems.
        raise SnapshotError(f"{path} is not a snapshot: it is not a SQLite database")
    return not size or is_unmade(path)


def require_own(path: Path) -> bool:
    """Look at a file without a lock and without its journal; say whether it has any content.

    SQLite makes files beside a database that it reads: a foreign database must be spared that.

    Raises:
        SnapshotError: it is foreign or newer.
        FileNotFoundError: it is missing.
        sqlite3.OperationalError: it cannot be opened.
    """
    if is_empty(path):
        return False
    try:
        with contextlib.closing(connect(path, "mode=ro&immutable=1")) as connection:
            marks = read_marks(connection)
    except sqlite3.OperationalError:
        raise
    except REFUSED as error:
        if "not a database" in str(error):
            raise SnapshotError(f"{path} is not a snapshot: it is not a SQLite database") from error
        # A writer can change the file meanwhile. It is read again with a lock.
        return True
    # The version can be older than that in the journal.
    if marks.application != APPLICATION_ID or not has_journal(path):
        require_marks(path, marks)
    return True


def is_prepared(connection: Connection, path: Path) -> bool:
    """Say whether a database has the schema; False if it has nothing at all.

    Raises:
        SnapshotError: the database has another schema.
    """
    is_apart = not connection.in_transaction
    if is_apart:
        # Another process may make the schema at this moment: all marks are to be of the same state.
        connection.execute("BEGIN")
    try:
        marks = read_marks(connection)
    finally:
        if is_apart:
            connection.rollback()
    return require_marks(path, marks)


def version_of(path: Path) -> int | None:
    """Return the version of a snapshot; None if the file is missing or empty.

    It only reads: not even the journal of a foreign file is touched.

    Raises:
        SnapshotError: the file is foreign, newer or damaged, or has the journal of another file.
    """
    with clear_errors(path):
        if not path.exists() or not require_own(path):
            return None
        with contextlib.closing(connect(path, "mode=ro")) as connection:
            require_own_journal(path, connection)
            return connection.version if is_prepared(connection, path) else None


def _use_wal(connection: Connection) -> None:
    """Put the database into WAL mode, which is a change in a new file only.

    SQLite itself does not wait for other processes that do the same at this moment.
    """
    end = time.monotonic() + _WAL_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _locked(path: Path) -> Connection:
    """Open the file that has the path, missing or not, and begin a transaction that writes."""
    while True:
        make(path)
        connection = connect(path, "mode=rwc")
        try:
            connection.execute(CACHE)
            connection.execute(PAGE_SIZE)
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            # Another refresh may have swapped in a new file before it unlocked this one.
            if identity(path) == connection.identity:
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Connection]:
    """Open a transaction that writes; it is committed in the end, unless an error is raised.

    Makes a missing file, and waits for another writer. :func:`version_of` checks the file before.

    Raises:
        SnapshotError: the file is foreign, newer or damaged, or cannot be written.
    """
    with clear_errors(path), contextlib.closing(_locked(path)) as connection:
        had_journal = has_journal(path)
        try:
            if not is_prepared(connection, path):
                make_tables(connection)
            elif connection.version != SCHEMA_VERSION:
                raise SnapshotError(f"{path} was exchanged for an earlier version; try again")
            yield connection
            write_state(connection, had_journal=had_journal)
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise
        empty_journal(connection)


def empty_journal(connection: Connection) -> None:
    """Move the journal into the file, as far as readers of the old state allow.

    They are not waited for. If there are none, the whole state is in the file itself then.
    """
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
