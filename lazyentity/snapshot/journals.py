"""Journals of SQLite beside a snapshot, and whether they belong to it."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import struct
from pathlib import Path
from typing import Any, Final

from lazyentity.snapshot import schema
from lazyentity.snapshot.connections import REFUSED, Connection, beside, connect
from lazyentity.snapshot.errors import SnapshotError

# Of a rollback journal: its magic number, and the pages of the database before the transaction.
_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
_HEADER: Final = struct.Struct(">8s8xI")
_STATE_BYTES: Final = 8
_MOST_BASES: Final = 100


def has_journal(path: Path) -> bool:
    """Whether a part of the database is still in its journal. Readers leave an empty one behind."""
    try:
        return beside(path, "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def is_unmade(path: Path) -> bool:
    """Whether the database was empty before the transaction in its rollback journal.

    A process that is killed while it makes a file leaves such a journal. SQLite rolls the journal
    back, and then the file is empty. A connection that only reads cannot roll back, and fails.
    """
    try:
        with beside(path, "-journal").open("rb") as file:
            header = file.read(_HEADER.size)
    except FileNotFoundError:
        return False
    return len(header) == _HEADER.size and _HEADER.unpack(header) == (_MAGIC, 0)


def write_state(connection: Connection, *, had_journal: bool) -> None:
    """Give the file a new state.

    The file without its journal may be in any state of the setting ``bases`` until the journal is
    empty. The setting is null if these are unknown.

    Args:
        connection: in a transaction that writes.
        had_journal: whether the journal had anything in it before the transaction.
    """
    bases = None
    with contextlib.suppress(sqlite3.DatabaseError):
        before = schema.setting(connection, "state", str)
        known = schema.setting(connection, "bases", _bases) if had_journal else ()
        if known is not None and len(known) < _MOST_BASES:
            bases = [*known, before]
    schema.set_setting(connection, "state", secrets.token_hex(_STATE_BYTES))
    schema.set_setting(connection, "bases", bases)


def require_own_journal(path: Path, connection: Connection) -> None:
    """Check that the journal is of this file, and not of a file that had its path before.

    SQLite itself applies any journal of the right name.

    Args:
        path: of the file.
        connection: sees the file with its journal, and is in no transaction.

    Raises:
        SnapshotError: the journal is of another file.
    """
    seen = None
    while has_journal(path):
        alone = _state_alone(path)
        if alone is None or _may_be(connection, alone):
            return
        # Refreshes of other processes can have ended between the two reads.
        if alone == seen:
            raise SnapshotError(
                f"{beside(path, '-wal')} is not of {path}, which was replaced by another file; end "
                "the processes that use it, and delete that file and the -shm file beside it"
            )
        seen = alone


def _bases(value: Any) -> tuple[str, ...] | None:
    return None if value is None else tuple(map(str, value))


def _state_alone(path: Path) -> str | None:
    """Return the state of the file without its journal; None if that is unknown."""
    try:
        with contextlib.closing(connect(path, "mode=ro&immutable=1")) as connection:
            schema.read_marks(connection)
            return schema.setting(connection, "state", str)
    except REFUSED:
        # Of version 1, empty, or changed by a checkpoint at this moment.
        return None


def _may_be(connection: Connection, alone: str) -> bool:
    try:
        schema.read_marks(connection)
        bases = schema.setting(connection, "bases", _bases)
        return bases is None or alone in (*bases, schema.setting(connection, "state", str))
    except REFUSED:
        # Pages of two files.
        return False
