"""The snapshot as its users see it."""

from __future__ import annotations

import contextvars
import datetime
import itertools
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import zstandard
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore.query import Query
from google.protobuf.message import DecodeError

from lazyentity._backend import stock_from_raw
from lazyentity._dispatch import operations_of, require_entity, require_several
from lazyentity._mode import EAGER_MODE, gives_stock
from lazyentity.codec.describing import describe_type
from lazyentity.entity import LazyEntity
from lazyentity.operations import raw
from lazyentity.patches.datastore.wrapping import wrap
from lazyentity.snapshot.format import (
    FORMAT,
    MAX_CELL_BYTES,
    TABLES,
    CorruptEntity,
    SnapshotError,
    checksum,
    clear_errors,
    format_of,
    stored_key,
)
from lazyentity.snapshot.writing import write

# A content may decompress to so many bytes; an entity of Datastore has 1 MiB at most.
_MAX_CONTENT_BYTES: Final = 16 * 1024 * 1024
_AT_ONCE: Final = 100  # rows that are taken from SQLite together
_ROWS: Final = (
    "SELECT entities.key, contents.data, entities.checksum "
    "FROM entities LEFT JOIN contents ON contents.number = entities.content"
)


class Information(NamedTuple):
    """A description of a snapshot.

    Attributes:
        entities: the number of entities.
        contents: the number of different contents.
        file_bytes: the size of the file.
        refreshed: when the file was written.
        source: the query in words; None if the snapshot was made of entities.
    """

    entities: int
    contents: int
    file_bytes: int
    refreshed: datetime.datetime
    source: str | None


class Snapshot:
    """The results of a query in one file, read back as lazy entities.

    The first read opens the file. From then on, all reads in all threads see that state, even if
    the file is replaced. After :meth:`close` or :meth:`refresh`, the next read opens the file
    again.

    Nothing in the file is executed. Its bytes are decoded like a server's response.

    Args:
        path: the path of the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: _File | None = None

    def __repr__(self) -> str:
        return f"Snapshot({str(self.path)!r})"

    def __reduce__(self) -> tuple[type[Snapshot], tuple[Path]]:
        # A copy opens the file by itself.
        return type(self), (self.path,)

    def refresh(
        self,
        query: Query | Iterable[Entity],
        *,
        allow_empty: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write the results of a query to a new file, which then replaces the old one.

        After an error, or if the process is killed, the old file is still there. Snapshots that
        have opened it keep reading it.

        Args:
            query: a query, whose results are read lazily, whether the client is patched or not; it
                must not be keys-only or have a projection. Or an iterable of any entities, which
                are stored with their changes.
            allow_empty: whether to accept that there is no entity.
            progress: called from time to time with the number of entities so far.

        Returns:
            The number of entities.

        Raises:
            SnapshotError: the file at the path is not a snapshot, or a newer version wrote it; or
                ``query`` returns no entity.
            OSError: the file cannot be written.
            TypeError: ``query`` returns anything but entities.
            ValueError: the query is keys-only or has a projection, or the key of an entity is not
                complete.
        """
        source = None
        entities: Iterable[Entity]
        if isinstance(query, Query):
            source, entities = _results(query)
        else:
            require_several("refresh", query)
            # Copied: encoding can run code that changes it, and an entity would be left out.
            entities = list(query) if isinstance(query, Collection) else query
        now = datetime.datetime.now(datetime.timezone.utc)
        context = contextvars.copy_context()
        if source is not None:
            # Lazily inside eager(), too: stock entities would have to be encoded again.
            context.run(EAGER_MODE.set, False)
        count = context.run(
            write,
            self.path,
            map(_serialised, entities),
            {"refreshed": now.isoformat(), "source": source},
            allow_empty=allow_empty,
            progress=progress or (lambda number: None),
        )
        self.close()
        return count

    def __len__(self) -> int:
        return self._opened().entities

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, Key) or key.is_partial:
            return False
        found = self._opened().rows("SELECT 1 FROM entities WHERE key = ?", stored_key(key))
        return any(found)

    def __getitem__(self, key: Key) -> LazyEntity:
        """Return the entity of a key, a new object each time.

        Raises:
            KeyError: there is none.
            CorruptEntity: its bytes are damaged.
        """
        (entity,) = self.get_many([key])
        if entity is None:
            raise KeyError(key)
        return entity

    def get_many(self, keys: Iterable[Key]) -> list[LazyEntity | None]:
        """Return the entities in the order of their keys, None for a key without one.

        Raises:
            CorruptEntity: the bytes of an entity are damaged.
            TypeError: ``keys`` has anything but keys.
        """
        file = self._opened()
        found = []
        for key in keys:
            if not isinstance(key, Key):
                raise TypeError(f"a snapshot has entities by key, not by {describe_type(key)}")
            rows = file.rows(f"{_ROWS} WHERE entities.key = ?", stored_key(key))
            found.append(next(itertools.starmap(file.entity, rows), None))
        return found

    def __iter__(self) -> Iterator[LazyEntity]:
        """Iterate the entities, in the order of their stored keys.

        A damaged entity raises CorruptEntity in its place; the iterator can be continued. If
        entities are missing, SnapshotError is raised in the end.
        """
        file = self._opened()
        # Unlike a generator, it goes on after an error.
        return itertools.starmap(file.entity, file.every(f"{_ROWS} ORDER BY entities.key"))

    def keys(self) -> Iterator[Key]:
        """Iterate over the keys, in the order of the entities.

        Raises:
            CorruptEntity: the bytes of a key are damaged.
            SnapshotError: keys are missing.
        """
        for (stored,) in self._opened().every("SELECT key FROM entities ORDER BY key"):
            key = _key_of(stored)
            if isinstance(key, bytes):
                raise CorruptEntity(key, "its key cannot be decoded")
            yield key

    def verify(self) -> list[SnapshotError]:
        """Read everything, and compare it with the checksums.

        Returns an error for each damaged part of the file, a CorruptEntity for a damaged entity.
        """
        file = self._opened()
        damages: list[SnapshotError] = []
        try:
            for (text,) in file.rows("PRAGMA integrity_check"):
                if text != b"ok":
                    damages.append(SnapshotError(f"{self.path}: {text.decode(errors='replace')}"))
            for row in file.every(f"{_ROWS} ORDER BY entities.key"):
                try:
                    file.lazy(*row)
                except CorruptEntity as error:
                    damages.append(error)
        except SnapshotError as error:
            damages.append(error)
        return damages

    def information(self) -> Information:
        """Describe the file."""
        file = self._opened()
        ((contents,),) = file.rows("SELECT count(*) FROM contents")
        refreshed = datetime.datetime.fromisoformat(file.description["refreshed"])
        source = file.description["source"]
        return Information(file.entities, contents, file.bytes, refreshed, source)

    def close(self) -> None:
        """Close the file. Iterations under way keep reading it; the next read opens it again."""
        self._file = None

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _opened(self) -> _File:
        file = self._file
        if file is not None and file.process != os.getpid():
            _inherited.append(file)
            file = None
        if file is None:
            file = self._file = _File(self.path)
        return file


_inherited: list[_File] = []
"""Files of a parent process. Closing them could wait for a lock that a thread of the parent had."""


class _File:
    """An open file, read by any thread. It is never changed, so that SQLite needs no locks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = os.getpid()
        found = format_of(path)
        if found < FORMAT:
            raise SnapshotError(
                f"{path} has format {found}, which this lazyentity does not read; make it anew by "
                "Snapshot(path).refresh(query), or by `python -m lazyentity snapshot save`"
            )
        self._of_thread = threading.local()
        # Some builds of SQLite take no two threads in one connection.
        self._lock = threading.RLock()
        with clear_errors(path):
            uri = f"{Path(os.path.realpath(path)).as_uri()}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            self._finalizer = weakref.finalize(self, self._connection.close)
            # Damaged columns of text can hold anything.
            self._connection.text_factory = bytes
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
        # Views and triggers of a file from elsewhere would run.
        tables = {sql for (sql,) in self.rows("SELECT sql FROM sqlite_master WHERE sql NOT NULL")}
        try:
            if tables != set(map(str.encode, TABLES)):
                raise ValueError("its tables are others")
            ((text, self._dictionary, written),) = self.rows("SELECT * FROM information")
            if checksum(text, self._dictionary) != written:
                raise ValueError("its description has another checksum")
            self.description: dict[str, Any] = json.loads(text)
            self.entities: int = self.description["entities"]
        except (LookupError, TypeError, ValueError) as error:
            raise SnapshotError(
                f"{path} is damaged: {error}; write it anew by refresh(query)"
            ) from error
        self.bytes = path.stat().st_size

    def rows(self, statement: str, *values: Any) -> Iterator[Any]:
        """Iterate the rows of a query; raise SnapshotError if the file is damaged."""
        with clear_errors(self.path):
            with self._lock:
                cursor = self._connection.execute(statement, values)
                rows = cursor.fetchmany(_AT_ONCE)
            while rows:
                yield from rows
                with self._lock:
                    rows = cursor.fetchmany(_AT_ONCE)

    def every(self, statement: str) -> Iterator[Any]:
        """As :meth:`rows`, of a query with one row for each entity; none may be missing."""
        count = 0
        for row in self.rows(statement):
            count += 1
            yield row
        if count != self.entities:
            raise SnapshotError(
                f"{self.path} is damaged: {count} of its {self.entities} entities are there; write "
                "it anew by refresh(query)"
            )

    def lazy(self, key: Any, data: Any, written: Any) -> LazyEntity:
        """Return the entity of a row, lazy in any mode; raise CorruptEntity if it is damaged."""
        try:
            if checksum(key, data) != written:
                raise ValueError("its key and its content are not those that were written together")
            size = zstandard.frame_content_size(data)
            if not 0 <= size <= _MAX_CONTENT_BYTES:
                raise ValueError(f"it claims to have {size} bytes")
            return LazyEntity._from_raw(key + self._decompressor().decompress(data))
        except (TypeError, ValueError, DecodeError, zstandard.ZstdError) as error:
            # A damaged cell can have another type, which raises the first.
            raise CorruptEntity(_key_of(key), str(error)) from error

    def entity(self, key: Any, data: Any, written: Any) -> LazyEntity:
        """As :meth:`lazy`, but a stock entity where ``LazyEntity.from_bytes()`` makes one."""
        made = self.lazy(key, data, written)
        return stock_from_raw(made._raw) if gives_stock() else made  # type: ignore[return-value]  # as eager reads

    def _decompressor(self) -> zstandard.ZstdDecompressor:
        # No two threads may use one.
        made: zstandard.ZstdDecompressor | None = getattr(self._of_thread, "decompressor", None)
        if made is None:
            known = zstandard.ZstdCompressionDict(self._dictionary) if self._dictionary else None
            made = self._of_thread.decompressor = zstandard.ZstdDecompressor(dict_data=known)
        return made


def _key_of(stored: Any) -> Key | bytes:
    """Return a stored key; the bytes themselves, or the text of their cell, if it is damaged."""
    if not isinstance(stored, bytes):
        return repr(stored).encode()
    try:
        key = LazyEntity._from_raw(stored).key
    except (TypeError, ValueError, DecodeError):
        return stored
    return stored if key is None else key


def _serialised(entity: Any) -> bytes:
    if operations_of(entity) is None:
        require_entity("refresh", entity)
    return raw(entity)


def _results(query: Query) -> tuple[str, Iterable[Entity]]:
    """Return a description of a query, and its results."""
    if query.projection:
        raise ValueError(
            "the results of a keys-only query or a projection are incomplete, and putting one back "
            "would delete the other properties; refresh() takes a query without these"
        )
    # Lazily, as inside eager() too, whatever the mode of the process.
    results = wrap(query, eager=False).fetch()
    parts = {"project": query.project, "database": results.client.database}
    parts |= {"namespace": query.namespace, "kind": query.kind}
    described = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
    is_restricted = query.filters or query.ancestor or query.distinct_on
    return f"{described}, a part" if is_restricted else described, results
