"""The tables of a snapshot in each version, what tells it from other databases, and its settings.

``settings``
    Values by name, as JSON: the number of entities, the query, the time of the refresh.
``dictionaries``
    Dictionaries of zstd by number. A content keeps the dictionary that compressed it.
``contents``
    The fields of entities without their keys, compressed, each once, by their hash.
``entities``
    The content of each key.

Version 1 lacks the checksums and links that :mod:`~lazyentity.snapshot.proofs` describes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from lazyentity.snapshot import proofs
from lazyentity.snapshot.connections import Connection
from lazyentity.snapshot.errors import SnapshotError

_Setting = TypeVar("_Setting")

APPLICATION_ID: Final = int.from_bytes(b"LzSn", "big")
SCHEMA_VERSION: Final = 2
PAGE_BYTES: Final = 16_384
SIGNATURE: Final = "snapshot of lazyentity 5f1d3c0a"
"""A setting. It tells a snapshot whose first page is damaged from other files."""

_SETTING_BYTES: Final = 64 * 1024
_DICTIONARIES: Final = (
    "CREATE TABLE dictionaries (number INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL)"
)
_CONTENTS: Final = (
    "CREATE TABLE contents (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, "
    "dictionary INTEGER NOT NULL, data BLOB NOT NULL)"
)
# By version. Each has another statement than all others: so the statements tell the version, too.
_SCHEMAS: Final = {
    1: (
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        _DICTIONARIES,
        _CONTENTS,
        "CREATE TABLE entities (key BLOB PRIMARY KEY, content INTEGER NOT NULL) WITHOUT ROWID",
    ),
    2: (
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL, "
        "checksum INTEGER NOT NULL) WITHOUT ROWID",
        _DICTIONARIES,
        _CONTENTS,
        "CREATE TABLE entities (key BLOB PRIMARY KEY, content INTEGER NOT NULL, "
        "checksum BLOB NOT NULL, successor INTEGER NOT NULL) WITHOUT ROWID",
    ),
}
# SQLite makes the last one for AUTOINCREMENT, and itself the indexes, which have no text.
_TABLES: Final = {
    version: {*map(str.encode, statements), b"CREATE TABLE sqlite_sequence(name,seq)"}
    for version, statements in _SCHEMAS.items()
}


class Marks(NamedTuple):
    """The parts of a database that say whether it is a snapshot.

    Attributes:
        application, version: its application id and user version.
        statements: the SQL of all that it has: tables, and in foreign ones views and triggers.
    """

    application: int
    version: int
    statements: set[bytes]


def read_marks(connection: Connection) -> Marks:
    """Read the marks of a database, and remember its version."""
    ((application,),) = connection.execute("PRAGMA application_id")
    ((connection.version,),) = connection.execute("PRAGMA user_version")
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return Marks(application, connection.version, {statement for (statement,) in rows})


def require_marks(path: Path, marks: Marks) -> bool:
    """Check that a database is a snapshot of a known version; say whether it has anything at all.

    Raises:
        SnapshotError: it is something else.
    """
    if not any(marks):
        return False
    if marks.application != APPLICATION_ID:
        raise SnapshotError(f"{path} is not a snapshot, but another SQLite database")
    if marks.version not in _TABLES:
        raise SnapshotError(
            f"{path} has version {marks.version} of the schema, and this lazyentity knows version "
            f"{SCHEMA_VERSION}; install a newer lazyentity, or save the snapshot to another file"
        )
    # Views and triggers of a file from elsewhere would run.
    if marks.statements != _TABLES[marks.version]:
        raise SnapshotError(
            f"{path} is not a snapshot, or damaged: its tables are not those of version "
            f"{marks.version}; save the snapshot to another file, or, if it was one, write it anew "
            "by refresh(query, replace=True)"
        )
    return True


def is_snapshot(marks: Marks) -> bool:
    """Whether a database is a snapshot of a known version, whose marks may be damaged."""
    is_known = marks.application == APPLICATION_ID and marks.version in _TABLES
    return is_known or marks.statements in _TABLES.values()


def has_traces(head: bytes) -> bool:
    """Whether the first bytes of a file have marks of a snapshot, which may be damaged."""
    identifier = APPLICATION_ID.to_bytes(4, "big")
    statements = (text.encode() for texts in _SCHEMAS.values() for text in texts)
    # The place is that of SQLite's format: https://www.sqlite.org/fileformat.html#application_id.
    return head[68:72] == identifier or any(
        trace in head for trace in (SIGNATURE.encode(), *statements)
    )


def make_tables(connection: Connection) -> None:
    """Make the tables of the newest version, in a transaction that writes."""
    for statement in _SCHEMAS[SCHEMA_VERSION]:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.version = SCHEMA_VERSION
    set_setting(connection, "signature", SIGNATURE)


def bounded(column: str, size: int) -> str:
    """Return the SQL of a column of bytes that is null if it has another type, or more bytes.

    SQLite finds the type and the length of a BLOB without reading it.
    """
    return f"CASE WHEN typeof({column}) = 'blob' AND length({column}) <= {size} THEN {column} END"


def setting(connection: Connection, name: str, convert: Callable[[Any], _Setting]) -> _Setting:
    """Return a setting.

    Args:
        connection: in a transaction; its version is known.
        name: of the setting.
        convert: makes it of the value of JSON.

    Raises:
        sqlite3.DatabaseError: it is missing or damaged.
    """
    columns = (
        "value" if connection.version == 1 else f"{bounded('value', _SETTING_BYTES)}, checksum"
    )
    statement = f"SELECT {columns} FROM settings WHERE name = ?"  # noqa: S608  # of constants
    row = connection.execute(statement, (name,)).fetchone()
    try:
        value, *proof = row
        if proof and proof != [proofs.of_setting(name, value)]:
            raise ValueError("another checksum")
        return convert(json.loads(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"its setting {name!r} is missing or damaged") from error


def set_setting(connection: Connection, name: str, value: Any) -> None:
    """Set a setting to a value of JSON."""
    text = json.dumps(value).encode()
    row = name, text, proofs.of_setting(name, text)
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", row)


def whole(value: Any) -> int:
    """Return the value of a setting that is a number of things.

    Raises:
        ValueError: it is no number, or none that a length can be.
    """
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("no number of entities")
    return value
