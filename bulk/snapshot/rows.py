"""The rows of a snapshot: a key and a content, of which a lazy entity is made."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import DecodeError

from lazyentity.entity import LazyEntity
from lazyentity.snapshot.connections import require_this_process
from lazyentity.snapshot.contents import key_of
from lazyentity.snapshot.errors import CorruptEntity
from lazyentity.snapshot.readers import Reader

Row = tuple[bytes, int, Any]
"""The stored key, and of the content the dictionary and the bytes.

In place of the bytes there is the error of SQLite if they cannot be read."""

KEYS: Final = "SELECT key FROM entities ORDER BY key"

_AT_ONCE: Final = 100
"""Rows that are taken from SQLite together."""
_SELECTED: Final = (
    "SELECT entities.key, contents.dictionary, contents.data "
    "FROM entities LEFT JOIN contents ON contents.number = entities.content"
)
_EVERY: Final = f"{_SELECTED} ORDER BY entities.key"
_ONE: Final = f"{_SELECTED} WHERE entities.key = ?"
_KEYS_AFTER: Final = "SELECT key FROM entities WHERE key > ? ORDER BY key"


def fetched(reader: Reader, statement: str, *values: Any) -> Iterator[Any]:
    """Iterate the rows of a query in the transaction of a reader.

    Raises:
        SnapshotError: the process was forked meanwhile.
        sqlite3.DatabaseError: the file is damaged.
    """
    cursor = reader.connection.execute(statement, values)
    while rows := cursor.fetchmany(_AT_ONCE):
        yield from rows
        require_this_process(reader.connection, reader.path)


def every(reader: Reader) -> Iterator[tuple[Reader, Row]]:
    """Iterate the rows of all entities in the order of their keys, each with the reader.

    Once a page is damaged, each row is looked up by its key, so that the others can be read.
    """
    last: list[Any] = []
    try:
        for row in fetched(reader, _EVERY):
            last = [row[0]]
            yield reader, row
    except sqlite3.DatabaseError:
        for (key,) in fetched(reader, _KEYS_AFTER if last else KEYS, *last):
            found = one(reader, key)
            if found is not None:
                yield reader, found


def one(reader: Reader, key: bytes) -> Row | None:
    """Return the row of a stored key; None if there is none."""
    try:
        row: Row | None = reader.connection.execute(_ONE, (key,)).fetchone()
    except sqlite3.DatabaseError as error:
        # The page of this row can be damaged, and those of others sound.
        return key, 0, error
    return row


def entity(reader: Reader, row: Row) -> LazyEntity:
    """Return the entity of a row.

    Raises:
        CorruptEntity: its bytes are damaged.
    """
    key, dictionary, data = row
    try:
        return LazyEntity.from_bytes(key + reader.decompressor.content(dictionary, data))
    except (TypeError, ValueError, DecodeError) as error:
        reason = data if isinstance(data, sqlite3.Error) else error
        raise CorruptEntity(key_of(key), str(reason)) from reason
