"""The rows of a snapshot: a key and a content, of which a lazy entity is made."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.message import DecodeError

from lazyentity._backend import stock_from_raw
from lazyentity._mode import gives_stock
from lazyentity.entity import LazyEntity
from lazyentity.snapshot import proofs, schema
from lazyentity.snapshot.connections import REFUSED, require_this_process
from lazyentity.snapshot.errors import CorruptEntity
from lazyentity.snapshot.payloads import MAX_CONTENT_BYTES, key_of
from lazyentity.snapshot.readers import Reader

Row = tuple[bytes, int, Any, Any, Any]
"""The stored key, of the content the dictionary and the frame, the checksum and the link.

In place of the frame there is the error of SQLite if it cannot be read. Version 1 has no checksums
and no links: they are None."""

KEYS: Final = "SELECT key FROM entities ORDER BY key"

_AT_ONCE: Final = 100
"""Rows that are taken from SQLite together."""
# A frame of bytes that do not compress is a little longer than they are.
_FRAME: Final = schema.bounded("contents.data", MAX_CONTENT_BYTES + MAX_CONTENT_BYTES // 64)
_CHECKSUM: Final = schema.bounded("entities.checksum", proofs.CHECKSUM_BYTES)
_PROOFS: Final = {1: "NULL, NULL", 2: f"{_CHECKSUM}, entities.successor"}
_SELECTED: Final = {
    version: f"SELECT entities.key, contents.dictionary, {_FRAME}, {selected} "  # noqa: S608
    "FROM entities LEFT JOIN contents ON contents.number = entities.content"
    for version, selected in _PROOFS.items()
}
_EVERY: Final = {version: f"{text} ORDER BY entities.key" for version, text in _SELECTED.items()}
_ONE: Final = {version: f"{text} WHERE entities.key = ?" for version, text in _SELECTED.items()}
_KEYS_AFTER: Final = "SELECT key FROM entities WHERE key > ? ORDER BY key"
_LINKS: Final = {
    1: "SELECT key, NULL FROM entities ORDER BY key",
    2: "SELECT key, successor FROM entities ORDER BY key",
}
_BEFORE: Final = "SELECT key, successor FROM entities WHERE key < ? ORDER BY key DESC LIMIT 1"
_FROM: Final = "SELECT key FROM entities WHERE key >= ? ORDER BY key LIMIT 1"


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

    Raises:
        sqlite3.DatabaseError: rows are missing or repeated, and nothing else said that the file is
            damaged.
    """
    before = reader.damaged
    chain = _chain(reader)
    last: list[Any] = []
    try:
        for row in fetched(reader, _EVERY[reader.connection.version]):
            last = [row[0]]
            chain.follow(row[0], row[4])
            yield reader, row
    except REFUSED:
        for (key,) in fetched(reader, _KEYS_AFTER if last else KEYS, *last):
            found = one(reader, key)
            if found is not None:
                chain.follow(key, found[4])
                yield reader, found
    if not chain.end() and reader.damaged == before:
        raise lost()


def _chain(reader: Reader) -> proofs.Chain:
    if reader.connection.version == 1:
        return proofs.Chain(proofs.END, None, has_links=False)
    return proofs.Chain(proofs.END, schema.setting(reader.connection, "first", schema.whole))


def lost() -> sqlite3.DatabaseError:
    """Return the error of keys that cannot be trusted."""
    return sqlite3.DatabaseError(
        "some of its keys are damaged, missing or repeated; write the file anew by "
        "refresh(query, replace=True)"
    )


def keys(reader: Reader) -> Iterator[Any]:
    """Iterate the stored keys in their order. Each was the next one when the file was written.

    Raises:
        CorruptEntity: a key cannot be decoded.
        sqlite3.DatabaseError: keys are damaged, missing or repeated.
    """
    chain = _chain(reader)
    for stored, successor in fetched(reader, _LINKS[reader.connection.version]):
        key = key_of(stored)
        if isinstance(key, bytes):
            raise CorruptEntity(key, "its key cannot be decoded")
        if not chain.follow(stored, successor):
            raise lost()
        yield key
    if not chain.end():
        raise lost()


def one(reader: Reader, key: bytes) -> Row | None:
    """Return the row of a stored key; None if there is none."""
    statement = _ONE[reader.connection.version]
    try:
        row: Row | None = reader.connection.execute(statement, (key,)).fetchone()
    except REFUSED as error:
        # The page of this row can be damaged while other pages are sound.
        return key, 0, error, None, None
    return row


def is_there(reader: Reader, key: bytes) -> bool:
    """Say whether there is a stored key: proven by its neighbours, where the version has links.

    A search that a damaged key leads astray ends beside that key.

    Raises:
        sqlite3.DatabaseError: the keys around it are damaged, or some are missing.
    """
    execute = reader.connection.execute
    following = execute(_FROM, (key,)).fetchone()
    found: Any = proofs.END if following is None else following[0]
    if reader.connection.version > 1:
        before = execute(_BEFORE, (key,)).fetchone()
        chain = _chain(reader) if before is None else proofs.Chain(*before)
        if not chain.follow(found, None):
            raise lost()
    return bool(found == key)


def entity(reader: Reader, row: Row) -> LazyEntity:
    """Return the entity of a row: a stock one where ``LazyEntity.from_bytes()`` makes stock ones.

    Raises:
        CorruptEntity: its bytes are damaged.
        ValueError, OverflowError, google.protobuf.message.DecodeError: a stock entity cannot be
            made of its bytes.
    """
    made = lazy(reader, row)
    # Sound bytes: an entity that the client cannot convert is not damaged.
    return stock_from_raw(made._raw) if gives_stock() else made  # type: ignore[return-value]  # as eager reads


def lazy(reader: Reader, row: Row) -> LazyEntity:
    """Return the entity of a row, lazy in any mode.

    Raises:
        CorruptEntity: its bytes are damaged.
    """
    key, dictionary, data, checksum, _ = row
    try:
        if reader.connection.version > 1 and proofs.checksum(key, data) != checksum:
            raise ValueError("its key and its content are not those that were written together")
        made = LazyEntity._from_raw(key + reader.decompressor.content(dictionary, data))
        if reader.connection.version == 1 and made.key is None:
            raise ValueError("its key is missing")
    except (TypeError, ValueError, DecodeError) as error:
        reader.damaged += 1
        reason = data if isinstance(data, REFUSED) else error
        raise CorruptEntity(key_of(key), str(reason)) from reason
    return made
