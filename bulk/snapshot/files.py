"""The file of a snapshot: its schema, what tells it from other files, and writing to it.

The file is a SQLite database in WAL mode:

``settings``
    Values by name, as JSON: the number of entities, the query, the time of the refresh.
``dictionaries``
    Dictionaries of zstd by number. A content keeps the dictionary that compressed it.
``contents``
    The fields of entities without their keys, compressed, each once, by their hash.
``entities``
    The content of each key.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from lazyentity.snapshot.connections import Connection, beside, clear_errors, connect
from lazyentity.snapshot.errors import SnapshotError

_Setting = TypeVar("_Setting")

APPLICATION_ID: Final = int.from_bytes(b"LzSn", "big")
SCHEMA_VERSION: Final = 1

# Of a rollback journal: its magic number, and the pages of the database before the transaction.
_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_HEADER: Final = struct.Struct(">8s8xI")
_WAL_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.01
CACHE: Final = "PRAGMA cache_size = -16384"
_SCHEMA: Final = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE dictionaries (number INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL)",
    "CREATE TABLE contents (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, "
    "dictionary INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE entities (key BLOB PRIMARY KEY, content INTEGER NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
# SQLite makes the last one for AUTOINCREMENT, and itself the indexes, which have no text.
_TABLES: Final = {
    *(statement.encode() for statement in _SCHEMA if statement.startswith("CREATE")),
    b"CREATE TABLE sqlite_sequence(name,seq)",
}


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


class _Marks(NamedTuple):
    """The parts of a database that say whether it is a snapshot.

    Attributes:
        application, version: its application id and user version.
        statements: the SQL of all that it has: tables, and in foreign ones views and triggers.
    """

    application: int
    version: int
    statements: set[bytes]


def _marks(connection: Connection) -> _Marks:
    ((application,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return _Marks(application, version, {statement for (statement,) in rows})


def require_own(path: Path) -> bool:
    """Look at a file without a lock and without its journal; say whether it has any content.

    SQLite makes files beside a database that it reads: a foreign database must be spared that.

    Raises:
        SnapshotError: it is foreign or newer.
        FileNotFoundError: it is missing.
        sqlite3.OperationalError: it cannot be opened.
    """
    if not path.stat().st_size or _is_unmade(path):
        return False
    try:
        with contextlib.closing(connect(path, "mode=ro&immutable=1")) as connection:
            marks = _marks(connection)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            raise SnapshotError(f"{path} is not a snapshot: it is not a SQLite database") from error
        # A writer can change the file meanwhile. It is read again with a lock.
        return True
    # The version can be older than that in the journal.
    if marks.application != APPLICATION_ID or not has_journal(path):
        _require_marks(path, marks)
    return True


def _require_marks(path: Path, marks: _Marks) -> bool:
    """Check that a database is a snapshot of this version; say whether it has anything at all.

    Raises:
        SnapshotError: it is something else.
    """
    if not any(marks):
        return False
    if marks.application != APPLICATION_ID:
        raise SnapshotError(f"{path} is not a snapshot, but another SQLite database")
    if marks.version != SCHEMA_VERSION:
        raise SnapshotError(
            f"{path} has version {marks.version} of the schema, and this lazyentity knows version "
            f"{SCHEMA_VERSION}; install a newer lazyentity, or save the snapshot to another file"
        )
    # Views and triggers of a file from elsewhere would run.
    if marks.statements != _TABLES:
        raise SnapshotError(
            f"{path} is not a snapshot, or damaged: its tables are not those of version "
            f"{SCHEMA_VERSION}; save the snapshot to another file"
        )
    return True


def has_journal(path: Path) -> bool:
    """Whether a part of the database is still in its journal. Readers leave an empty one behind."""
    try:
        return beside(path, "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _is_unmade(path: Path) -> bool:
    """Whether the database was empty before the transaction in its rollback journal.

    A process that is killed while it makes a file leaves such a journal. SQLite rolls the journal
    back, and then the file is empty. A connection that only reads cannot roll back, and fails.
    """
    try:
        with beside(path, "-journal").open("rb") as file:
            header = file.read(_JOURNAL_HEADER.size)
    except FileNotFoundError:
        return False
    return len(header) == _JOURNAL_HEADER.size and _JOURNAL_HEADER.unpack(header) == (
        _JOURNAL_MAGIC,
        0,
    )


def is_prepared(connection: Connection, path: Path) -> bool:
    """Say whether a database has the schema; False if it has nothing at all.

    Raises:
        SnapshotError: the database has another schema.
    """
    is_apart = not connection.in_transaction
    if is_apart:
        # Another process may make the schema at this moment: all marks are to be of one state.
        connection.execute("BEGIN")
    try:
        marks = _marks(connection)
    finally:
        if is_apart:
            connection.rollback()
    return _require_marks(path, marks)


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


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Connection]:
    """Open a transaction that writes; it is committed in the end, unless an error is raised.

    Makes a missing file, and waits for another writer.

    Raises:
        SnapshotError: the file is foreign, newer or damaged, or cannot be written.
    """
    with clear_errors(path):
        if path.exists() and require_own(path):
            # Read-only at first: not even the journal of a foreign file is to be touched.
            with contextlib.closing(connect(path, "mode=ro")) as connection:
                is_prepared(connection, path)
        with contextlib.closing(connect(path, "mode=rwc")) as connection:
            connection.execute(CACHE)
            # Of a new file. A page of the default size has room for few contents, and waste.
            connection.execute("PRAGMA page_size = 16384")
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                if not is_prepared(connection, path):
                    for statement in _SCHEMA:
                        connection.execute(statement)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise
            # As far as readers of the old state allow, who are not waited for. If there are none,
            # the whole state is in the file itself then, and the journal is empty.
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def setting(connection: Connection, name: str, convert: Callable[[Any], _Setting]) -> _Setting:
    """Return a setting.

    Args:
        connection: in a transaction.
        name: of the setting.
        convert: makes it of the value of JSON.

    Raises:
        sqlite3.DatabaseError: it is missing or damaged.
    """
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    try:
        return convert(json.loads(row[0]))
    except (TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"its setting {name!r} is missing or damaged") from error


def set_setting(connection: Connection, name: str, value: Any) -> None:
    """Set a setting to a value of JSON."""
    row = name, json.dumps(value)
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", row)
