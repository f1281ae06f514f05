"""Writing the results of a query into a snapshot."""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from google.protobuf.message import DecodeError

from lazyentity.snapshot import proofs
from lazyentity.snapshot.connections import Connection
from lazyentity.snapshot.files import Refreshed
from lazyentity.snapshot.payloads import (
    HASH_BYTES,
    MAX_SAMPLES,
    SAMPLE_BYTES,
    Decompressor,
    Stored,
    compressor,
    split,
    train,
)
from lazyentity.snapshot.schema import set_setting

_REPORT_EVERY: Final = 1_000

_ADDED, _CHANGED, _UNCHANGED = range(3)

HASH_OF_KEY: Final = (
    "SELECT contents.hash FROM entities JOIN contents ON contents.number = entities.content "
    "WHERE entities.key = ?"
)
_RECEIVE: Final = (
    "INSERT INTO received VALUES (?, ?) "
    "ON CONFLICT (key) DO UPDATE SET state = min(state, excluded.state)"
)

# The link of a key, as proofs.link() returns it. Only those that change are written. A refresh
# leaves most keys, and their order, as they are.
_NEXT: Final = (
    "crc32(CAST(key || ifnull((SELECT key FROM entities AS others WHERE others.key > entities.key "
    "ORDER BY others.key LIMIT 1), x'') AS BLOB))"
)
_LINK: Final = f"UPDATE entities SET successor = {_NEXT} WHERE successor IS NOT {_NEXT}"  # noqa: S608  # constants


def refresh(
    connection: Connection, entities: Iterable[bytes], *, progress: Callable[[int], None]
) -> Refreshed:
    """Make the file hold these entities and no others, in the transaction of the connection.

    Args:
        connection: in a transaction that writes.
        entities: serialised; of several with the same key, the last counts.
        progress: called now and then with the number of entities so far.

    Raises:
        ValueError, google.protobuf.message.DecodeError: as
            :func:`~lazyentity.snapshot.payloads.split`.
        sqlite3.DatabaseError: the file is damaged.
    """
    # SQLite keeps this table outside of the file, until the connection closes.
    connection.execute(
        "CREATE TEMP TABLE received (key BLOB PRIMARY KEY, state INTEGER) WITHOUT ROWID"
    )
    writer = _Writer(connection)
    for number, stored in enumerate(writer.trained(map(split, entities)), start=1):
        row = connection.execute(HASH_OF_KEY, (stored.key,)).fetchone()
        if row is not None and row[0] == stored.hash:
            state = _UNCHANGED
        else:
            state = _ADDED if row is None else _CHANGED
            writer.write(stored)
        connection.execute(_RECEIVE, (stored.key, state))
        if number % _REPORT_EVERY == 0:
            progress(number)
    removed = connection.execute(
        "DELETE FROM entities WHERE key NOT IN (SELECT key FROM received)"
    ).rowcount
    connection.execute("DELETE FROM contents WHERE number NOT IN (SELECT content FROM entities)")
    _link(connection)
    states: dict[int, int] = dict(
        connection.execute("SELECT state, count(*) FROM received GROUP BY state")
    )
    progress(sum(states.values()))
    added, changed, unchanged = (states.get(state, 0) for state in range(3))
    return Refreshed(added, changed, unchanged, removed)


def _link(connection: Connection) -> None:
    """Link each key to the next one."""
    # No Python code: SQLite would replace the exception of a signal handler that runs in it.
    connection.create_function("crc32", 1, zlib.crc32, deterministic=True)
    connection.execute(_LINK)
    ((first,),) = connection.execute("SELECT min(key) FROM entities")
    set_setting(connection, "first", proofs.link(proofs.END, first or proofs.END))


def digest(connection: sqlite3.Connection) -> str:
    """Return a hash of all keys and the hashes of their contents, as hexadecimal digits."""
    computed = hashlib.blake2b(digest_size=HASH_BYTES)
    for key, content in connection.execute(
        "SELECT entities.key, contents.hash FROM entities "
        "LEFT JOIN contents ON contents.number = entities.content ORDER BY entities.key"
    ):
        computed.update(repr((key, content)).encode())
    return computed.hexdigest()


class _Writer:
    """Writes entities, and their contents if these are new."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        ((self._last_before,),) = connection.execute("SELECT ifnull(max(number), 0) FROM contents")
        self._decompressor = Decompressor(
            dict(connection.execute("SELECT number, data FROM dictionaries"))
        )
        newest = connection.execute(
            "SELECT number, data FROM dictionaries ORDER BY number DESC LIMIT 1"
        ).fetchone()
        data: bytes | None
        self._dictionary: int | None
        self._dictionary, data = newest or (0, None)
        try:
            self._compressor = compressor(data)
        except ValueError as error:
            raise sqlite3.DatabaseError(
                f"its dictionary {self._dictionary} is damaged ({error}); write the file anew by "
                "refresh(query, replace=True)"
            ) from error

    def trained(self, entities: Iterator[Stored]) -> Iterator[Stored]:
        """Yield the entities; train a dictionary with the first entities if there is none."""
        if not self._dictionary:
            sample: list[Stored] = []
            size = 0
            while size < SAMPLE_BYTES and len(sample) < MAX_SAMPLES:
                stored = next(entities, None)
                if stored is None:
                    break
                sample.append(stored)
                size += len(stored.content)
            data = train([*{stored.hash: stored.content for stored in sample}.values()])
            if data is not None:
                added = self._connection.execute(
                    "INSERT INTO dictionaries (data) VALUES (?)", (data,)
                )
                self._dictionary, self._compressor = added.lastrowid, compressor(data)
            entities = itertools.chain(sample, entities)
        yield from entities

    def write(self, stored: Stored) -> None:
        """Write an entity that is new or changed.

        Raises:
            sqlite3.DatabaseError: the file has its content already, and that is damaged.
        """
        execute = self._connection.execute
        row = execute(
            "SELECT number, dictionary, data FROM contents WHERE hash = ?", (stored.hash,)
        ).fetchone()
        if row is None:
            data = self._compressor.compress(stored.content)
            content = execute(
                "INSERT INTO contents (hash, dictionary, data) VALUES (?, ?, ?)",
                (stored.hash, self._dictionary, data),
            ).lastrowid
        else:
            content, dictionary, data = row
            self._require_sound(stored, content, dictionary, data)
        execute(
            "INSERT OR REPLACE INTO entities VALUES (?, ?, ?, 0)",
            (stored.key, content, proofs.checksum(stored.key, data)),
        )

    def _require_sound(self, stored: Stored, content: int, dictionary: int, data: bytes) -> None:
        """Check a content that was there before: the checksum of the entity would vouch for it."""
        if content > self._last_before:
            return
        try:
            found = split(stored.key + self._decompressor.content(dictionary, data))
            is_sound = found.hash == stored.hash
        except (TypeError, ValueError, DecodeError):
            is_sound = False
        if not is_sound:
            raise sqlite3.DatabaseError(
                f"its content {content} is damaged; write the file anew by "
                "refresh(query, replace=True)"
            )
