"""The file of a snapshot: its schema, and its connections.

The file is a SQLite database in WAL mode:

``settings``
    Values by name, as JSON: the number of entities, the query, the time of the refresh.
``dictionaries``
    Dictionaries of zstd by number. A content keeps the one that it was compressed with.
``contents``
    The fields of entities without their keys, compressed, each once, by their hash.
``entities``
    The content of each key.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import struct
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from lazyentity.snapshot.contents import Decompressor
from lazyentity.snapshot.errors import SnapshotError

APPLICATION_ID: Final = int.from_bytes(b"LzSn", "big")
SCHEMA_VERSION: Final = 1

_MAGIC: Final = b"SQLite format 3\0"
# The user version and the application id in the header of a database.
_HEADER: Final = struct.Struct(">60xi4xi28x")
# Of a rollback journal: its magic number, and the pages of the database before the transaction.
_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
_JOURNAL_HEADER: Final = struct.Struct(">8s8xI")
_BUSY_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.01
_CACHE: Final = "PRAGMA cache_size = -16384"
_SCHEMA: Final = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE dictionaries (number INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL)",
    "CREATE TABLE contents (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, "
    "dictionary INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE entities (key BLOB PRIMARY KEY, content INTEGER NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


# SQLite forbids to use a connection in a forked process, and even to close it.
_inherited: list[sqlite3.Connection] = []


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


def _connect(path: Path, options: str) -> sqlite3.Connection:
    # Used by one thread at a time, but not always by the same.
    uri = f"file:{quote(str(path))}?{options}"
    return sqlite3.connect(
        uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _require_own(path: Path) -> bool:
    """Look at the header of a file, without SQLite; say whether there is any.

    SQLite makes files beside a database that it reads, which a foreign one is to be spared.

    Raises:
        SnapshotError: it is foreign or newer.
        FileNotFoundError: it is missing.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
    if header and not header.startswith(_MAGIC):
        raise SnapshotError(f"{path} is not a snapshot: it is not a SQLite database")
    if len(header) == _HEADER.size and not _has_journal(path):
        version, application = _HEADER.unpack(header)
        # Without either it can be empty, which the header does not tell.
        if version or application:
            _require_version(path, application, version)
    return bool(header)


def _require_version(path: Path, application: int, version: int) -> None:
    """Check that the numbers of a database are those of a snapshot.

    Raises:
        SnapshotError: they are others.
    """
    if application != APPLICATION_ID:
        raise SnapshotError(f"{path} is not a snapshot, but another SQLite database")
    if version != SCHEMA_VERSION:
        raise SnapshotError(
            f"{path} has version {version} of the schema, and this lazyentity knows version "
            f"{SCHEMA_VERSION}; install a newer lazyentity, or save the snapshot to another file"
        )


def _has_journal(path: Path) -> bool:
    """Whether a part of the database is still in its journal. Readers leave an empty one behind."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def _is_unmade(path: Path) -> bool:
    """Whether the database was empty before the transaction in its rollback journal.

    A process that is killed while it makes a file leaves such a journal. SQLite rolls it back, and
    the file is empty then; but a connection that only reads can do neither that nor go on.
    """
    try:
        with Path(f"{path}-journal").open("rb") as file:
            header = file.read(_JOURNAL_HEADER.size)
    except FileNotFoundError:
        return False
    return len(header) == _JOURNAL_HEADER.size and _JOURNAL_HEADER.unpack(header) == (
        _JOURNAL_MAGIC,
        0,
    )


def _is_prepared(connection: sqlite3.Connection, path: Path) -> bool:
    """Say whether a database has the schema; False if it has nothing at all.

    Raises:
        SnapshotError: it has another schema.
    """
    is_apart = not connection.in_transaction
    if is_apart:
        # Another process may make the schema at this moment: all three are to be of one state.
        connection.execute("BEGIN")
    try:
        ((application,),) = connection.execute("PRAGMA application_id")
        ((version,),) = connection.execute("PRAGMA user_version")
        ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
    finally:
        if is_apart:
            connection.rollback()
    if not (application or version or tables):
        return False
    _require_version(path, application, version)
    return True


@contextlib.contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into errors that name the file.

    Raises:
        SnapshotError: SQLite raised an error.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise SnapshotError(f"{path} cannot be used: {error}") from error


def _use_wal(connection: sqlite3.Connection) -> None:
    """Put the database into WAL mode, which is a change in a new file only.

    SQLite does not wait for other processes that do the same at this moment.
    """
    end = time.monotonic() + _BUSY_SECONDS
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
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a transaction that writes; it is committed in the end, unless an error is raised.

    The file is made if it is missing. Another writer is waited for.

    Raises:
        SnapshotError: the file is foreign, newer or damaged, or cannot be written.
    """
    with _clear_errors(path):
        if path.exists() and _require_own(path) and not _is_unmade(path):
            # Read-only at first: not even the journal of a foreign file is to be touched.
            with contextlib.closing(_connect(path, "mode=ro")) as connection:
                _is_prepared(connection, path)
        with contextlib.closing(_connect(path, "mode=rwc")) as connection:
            connection.execute(_CACHE)
            # Of a new file. A page of the default size has room for few contents, and waste.
            connection.execute("PRAGMA page_size = 16384")
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                if not _is_prepared(connection, path):
                    for statement in _SCHEMA:
                        connection.execute(statement)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise
            # As far as readers of the old state allow, who are not waited for.
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def setting(connection: sqlite3.Connection, name: str) -> Any:
    """Return a setting, None if it was never set."""
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return None if row is None else json.loads(row[0])


def set_setting(connection: sqlite3.Connection, name: str, value: Any) -> None:
    """Set a setting to a value of JSON."""
    row = name, json.dumps(value)
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", row)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _close(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        connection.close()
    else:
        _inherited.append(connection)


class Reader:
    """A connection that reads, and the decompression for it. One thread may use it at a time.

    Attributes:
        connection: the connection.
        decompressor: knows the dictionaries of the file.
        close: closes the connection; called in the end, if nobody calls it before.

    Raises:
        SnapshotError: the file is missing, foreign, newer or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._process = os.getpid()
        self._path = path
        self._is_immutable = False
        self._dictionaries: dict[int, bytes] = {}
        self.decompressor = Decompressor({})
        with _clear_errors(path):
            try:
                has_header = _require_own(path)
            except FileNotFoundError:
                raise SnapshotError(f"there is no snapshot {path}; save one first") from None
            empty = SnapshotError(
                f"{path} is empty: its first refresh has not ended; wait for it, or refresh again"
            )
            if not has_header or _is_unmade(path):
                raise empty
            self._file = _identity(path)
            self.connection = self._opened()
            try:
                if not _is_prepared(self.connection, path):
                    raise empty
            except BaseException:
                self.connection.close()
                raise
        self.close = weakref.finalize(self, _close, self.connection, self._process)

    def _opened(self) -> sqlite3.Connection:
        connection = _connect(self._path, "mode=ro")
        try:
            connection.execute(_CACHE)
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.Error:
            connection.close()
            # Reading beside a writer needs files beside this one, which a read-only folder lacks.
            # Nobody can write there, unless a journal says otherwise.
            if os.access(self._path.parent, os.W_OK) or _has_journal(self._path):
                raise
            self._is_immutable = True
            connection = _connect(self._path, "mode=ro&immutable=1")
        return connection

    def load_dictionaries(self) -> None:
        """Learn the dictionaries that a refresh added. Called inside a transaction."""
        numbers = [row[0] for row in self.connection.execute("SELECT number FROM dictionaries")]
        if self._dictionaries.keys() != set(numbers):
            self._dictionaries = dict(self.connection.execute("SELECT * FROM dictionaries"))
            self.decompressor = Decompressor(self._dictionaries)

    def is_current(self) -> bool:
        """Whether the connection is of this process, and of the file that has the path now."""
        if self._is_immutable or self._process != os.getpid():
            return False
        return self._file == _identity(self._path)


class Readers:
    """The open readers of a file that nobody uses. Any thread may ask for one.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # Without a lock, which a fork could leave locked for ever: its methods are atomic.
        self._free: list[Reader] = []

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Reader]:
        """Give a reader that sees one state of the file.

        Raises:
            SnapshotError: as for :class:`Reader`, or the file cannot be read.
        """
        reader = self._take()
        try:
            with _clear_errors(self._path):
                reader.connection.execute("BEGIN")
                reader.load_dictionaries()
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
