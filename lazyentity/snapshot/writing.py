"""Writing a snapshot: into a new file beside the old one, which then takes its name."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import zstandard

from lazyentity.snapshot.format import (
    APPLICATION_ID,
    FORMAT,
    TABLES,
    SnapshotError,
    checksum,
    clear_errors,
    format_of,
    split,
)

_LEVEL: Final = 6  # Reading takes as long at any level of the compression.
_DICTIONARY_BYTES: Final = 64 * 1024
# A dictionary is trained with the contents of the first entities.
_SAMPLE_BYTES: Final = 4 * 1024 * 1024
_MAX_SAMPLES: Final = 20_000
_MIN_SAMPLES: Final = 50
_REPORT_EVERY: Final = 1_000
# A page of the default size has room for few contents, and waste. Nobody reads the file before it
# is complete, so SQLite needs neither a journal nor locks.
_PRAGMAS: Final = (
    "page_size = 16384",
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    f"application_id = {int.from_bytes(APPLICATION_ID, 'big')}",
    f"user_version = {FORMAT}",
)


def write(
    path: Path,
    entities: Iterable[bytes],
    description: dict[str, Any],
    *,
    allow_empty: bool,
    progress: Callable[[int], None],
) -> int:
    """Write a snapshot, and replace the one that is there; return the number of its entities.

    Args:
        path: of the file.
        entities: serialised; of several with the same key, the last counts.
        description: JSON, which the file gets with the number of entities.
        allow_empty: as of :meth:`~lazyentity.snapshot.Snapshot.refresh`.
        progress: as of :meth:`~lazyentity.snapshot.Snapshot.refresh`.
    """
    # Beside the file itself, if the path is a link.
    target = Path(os.path.realpath(path))
    if target.exists():
        format_of(path)
    # Its mode is 0600.
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.", suffix="~")
    os.close(descriptor)
    made = Path(name)
    try:
        count = _fill(made, entities, description, progress)
        if not count and not allow_empty:
            raise SnapshotError(
                f"the query gave no entity, and {path} stays as it is; if that is right, pass "
                "allow_empty=True or --allow-empty"
            )
        _replace(made, target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return count


def _fill(
    path: Path,
    entities: Iterable[bytes],
    description: dict[str, Any],
    progress: Callable[[int], None],
) -> int:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:

        def execute(statement: str, *values: Any) -> sqlite3.Cursor:
            # Not around the iteration: an error of SQLite in there is the caller's.
            with clear_errors(path):
                return connection.execute(statement, values)

        for pragma in _PRAGMAS:
            execute(f"PRAGMA {pragma}")
        execute("BEGIN")
        for table in TABLES:
            execute(table)
        received = map(split, entities)
        sample = list(_sample(received))
        dictionary = _trained({content for _, content in sample})
        compressor = zstandard.ZstdCompressor(
            level=_LEVEL,
            dict_data=zstandard.ZstdCompressionDict(dictionary) if dictionary else None,
            write_checksum=True,
        )
        for number, (key, content) in enumerate(itertools.chain(sample, received), start=1):
            hashed = hashlib.blake2b(content, digest_size=20).digest()
            row = execute("SELECT number, data FROM contents WHERE hash = ?", hashed).fetchone()
            if row is None:
                data = compressor.compress(content)
                inserted = execute("INSERT INTO contents (hash, data) VALUES (?, ?)", hashed, data)
                row = inserted.lastrowid, data
            execute(
                "INSERT OR REPLACE INTO entities VALUES (?, ?, ?)",
                key,
                row[0],
                checksum(key, row[1]),
            )
            if number % _REPORT_EVERY == 0:
                progress(number)
        ((count,),) = execute("SELECT count(*) FROM entities")
        progress(count)
        text = json.dumps({**description, "entities": count}).encode()
        execute(
            "INSERT INTO information VALUES (?, ?, ?)", text, dictionary, checksum(text, dictionary)
        )
        execute("COMMIT")
    return int(count)


def _sample(received: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Take the first entities, by which the compression is trained."""
    size = 0
    for key, content in itertools.islice(received, _MAX_SAMPLES):
        yield key, content
        size += len(content)
        if size >= _SAMPLE_BYTES:
            return


def _trained(samples: set[bytes]) -> bytes:
    """Return a dictionary for contents like the samples; empty if there is nothing to learn."""
    if len(samples) < _MIN_SAMPLES:
        return b""
    size = min(_DICTIONARY_BYTES, sum(map(len, samples)) // 8)
    try:
        trained = zstandard.train_dictionary(size, list[Any](samples), k=256, d=8)
    except zstandard.ZstdError:
        # The samples are so few bytes, or so much alike.
        return b""
    return bytes(trained.as_bytes())


def _replace(made: Path, target: Path) -> None:
    """Give a complete file the name and the mode of the old one."""
    if target.exists():
        made.chmod(stat.S_IMODE(target.stat().st_mode))
    with made.open("rb+") as file:
        os.fsync(file.fileno())
    made.replace(target)
    for suffix in ("-wal", "-shm"):
        # Of format 2. SQLite itself would apply such a journal to any file that has the name.
        Path(f"{target}{suffix}").unlink(missing_ok=True)
    if os.name == "posix":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
