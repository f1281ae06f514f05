"""The file of a snapshot: a SQLite database that is written once, and never changed.

``information (text, dictionary, checksum)``
    One row: JSON that describes the snapshot, and the dictionary of zstd for its contents.
``contents (number, hash, data)``
    The fields of entities without their keys, each content once, as a frame of zstd.
``entities (key, content, checksum)``
    The content of each key. The checksum is of the stored key and the frame together: so a read
    proves that it returns the key and the content that were written together.

Checksums are BLAKE2b of 64 bits: even if every row of a large file is wrong, none passes by chance.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from google.cloud.datastore.key import Key

from lazyentity.codec import messages, shadow
from lazyentity.codec.describing import safe_repr

FORMAT: Final = 3
APPLICATION_ID: Final = b"LzSn"
TABLES: Final = (
    "CREATE TABLE information (text BLOB NOT NULL, dictionary BLOB NOT NULL, "
    "checksum BLOB NOT NULL)",
    "CREATE TABLE contents (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, "
    "data BLOB NOT NULL)",
    "CREATE TABLE entities (key BLOB PRIMARY KEY, content INTEGER NOT NULL, "
    "checksum BLOB NOT NULL) WITHOUT ROWID",
)
MAX_CELL_BYTES: Final = 32 * 1024 * 1024
"""Bytes of the largest cell that is read; a damaged or hostile file can claim to have any."""

# https://www.sqlite.org/fileformat.html#the_database_header
_HEAD_BYTES: Final = 100
_SQLITE: Final = b"SQLite format 3\0"
_FORMAT_AT, _APPLICATION_ID_AT = slice(60, 64), slice(68, 72)
_CHECKSUM_BYTES: Final = 8


class SnapshotError(Exception):
    """A snapshot cannot be read or written; the text says why. The file stays unchanged."""


class CorruptEntity(SnapshotError):
    """The stored bytes of an entity are damaged. The other entities can be read.

    Attributes:
        key: the key of the entity; the stored bytes of the key, if these are damaged.
        reason: what is wrong with the bytes.
    """

    def __init__(self, key: Key | bytes, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(
            f"the stored entity {safe_repr(key)} is damaged: {reason}; write the file anew by "
            "refresh(query)"
        )

    def __reduce__(self) -> tuple[type[CorruptEntity], tuple[Key | bytes, str]]:
        return type(self), (self.key, self.reason)


def format_of(path: Path) -> int:
    """Return the format of a snapshot by the first bytes of its file.

    Raises:
        SnapshotError: the file is missing, or no snapshot, or of a newer format.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise SnapshotError(f"there is no snapshot {path}; save one first") from None
    if not head.startswith(_SQLITE) or head[_APPLICATION_ID_AT] != APPLICATION_ID:
        raise SnapshotError(
            f"{path} is not a snapshot, or so damaged that nothing shows it; if it is one, delete "
            "it, and save it again"
        )
    found = int.from_bytes(head[_FORMAT_AT], "big")
    if found > FORMAT:
        raise SnapshotError(
            f"{path} has format {found}, and this lazyentity knows format {FORMAT}; install a "
            "newer lazyentity, or save the snapshot to another file"
        )
    return found


@contextlib.contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a SnapshotError that names the file."""
    try:
        yield
    # Python decodes the texts of SQLite's errors, which can quote damaged bytes.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise SnapshotError(
            f"{path} cannot be used: {error}; write it anew by refresh(query)"
        ) from (error)


def split(raw: bytes) -> tuple[bytes, bytes]:
    """Split a serialised entity into the field of its key and the other fields.

    Raises:
        google.protobuf.message.DecodeError: ``raw`` is malformed.
        ValueError: the entity has no key, or a partial one.
    """
    parts = shadow.EntityParts.FromString(raw)
    key = messages.Key.FromString(b"".join(parts.key))
    if not key.path or key.path[-1].WhichOneof("id_type") is None:
        raise ValueError("a snapshot cannot hold an entity without a complete key")
    parts.ClearField("key")
    return messages.Entity(key=key).SerializeToString(), parts.SerializeToString()


def stored_key(key: Any) -> bytes:
    """Return a key as :func:`split` does."""
    stored: bytes = messages.Entity(key=key.to_protobuf()._pb).SerializeToString()
    return stored


def checksum(*parts: bytes) -> bytes:
    """Return the checksum of bytes that belong together; the first part says how long it is."""
    return hashlib.blake2b(b"".join(parts), digest_size=_CHECKSUM_BYTES).digest()
