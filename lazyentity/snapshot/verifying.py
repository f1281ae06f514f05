"""Reading all of a snapshot, and comparing it with its hashes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final

from google.protobuf.message import DecodeError

from lazyentity.operations import raw
from lazyentity.snapshot import rows, schema
from lazyentity.snapshot.connections import REFUSED
from lazyentity.snapshot.errors import CorruptEntity, SnapshotError
from lazyentity.snapshot.payloads import key_of, split
from lazyentity.snapshot.readers import Reader
from lazyentity.snapshot.refreshing import HASH_OF_KEY, digest

_SETTINGS: Final = ("bases", "entities", "first", "refreshed", "source", "state")


def damages(reader: Reader, progress: Callable[[int], None]) -> list[SnapshotError]:
    """Read everything.

    Args:
        reader: in a transaction.
        progress: called for each entity with the number of entities so far.

    Returns:
        A CorruptEntity for each damaged entity, after the damages of the file that are in none.
    """
    in_file = [*_of_pages(reader), *_of_settings(reader)]
    in_entities: list[SnapshotError] = []
    try:
        for number, (stored,) in enumerate(rows.fetched(reader, rows.KEYS), start=1):
            try:
                _verify(reader, stored)
            except CorruptEntity as error:
                in_entities.append(error)
            progress(number)
        # Damaged contents have another digest anyway.
        if not in_entities and not _has_digest_as_written(reader):
            in_file.append("some keys, or their contents, are not those that were written")
        elif not in_entities:
            for _ in rows.keys(reader):
                pass
    except REFUSED as error:
        in_file.append(str(error))
    return [*(SnapshotError(f"{reader.path}: {text}") for text in in_file), *in_entities]


def _has_digest_as_written(reader: Reader) -> bool:
    connection = reader.connection
    # Version 1 had none at first.
    if (
        connection.version == 1
        and connection.execute("SELECT 1 FROM settings WHERE name = 'digest'").fetchone() is None
    ):
        return True
    return schema.setting(connection, "digest", str) == digest(connection)


def _of_settings(reader: Reader) -> Iterator[str]:
    if reader.connection.version == 1:
        return
    for name in _SETTINGS:
        try:
            schema.setting(reader.connection, name, lambda value: value)
        except REFUSED as error:
            yield str(error)


def _of_pages(reader: Reader) -> Iterator[str]:
    try:
        for (text,) in reader.connection.execute("PRAGMA integrity_check"):
            if text != b"ok":
                yield text.decode(errors="replace")
    except REFUSED as error:
        yield str(error)


def _verify(reader: Reader, stored: bytes) -> None:
    """Read an entity and compare it with its hash.

    Raises:
        CorruptEntity: it is damaged.
    """
    row = rows.one(reader, stored)
    if row is None:
        raise CorruptEntity(key_of(stored), "it is not found by its key")
    entity = rows.lazy(reader, row)
    try:
        (written,) = reader.connection.execute(HASH_OF_KEY, (stored,)).fetchone()
        is_same = split(raw(entity)).hash == written
    except (TypeError, ValueError, DecodeError, sqlite3.Error) as error:
        raise CorruptEntity(key_of(stored), str(error)) from error
    if not is_same:
        raise CorruptEntity(key_of(stored), "its bytes have another hash")
