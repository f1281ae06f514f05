"""The snapshot as its users see it."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore.query import Query
from google.protobuf.message import DecodeError

from lazyentity._types import describe_type
from lazyentity.codec.mode import EAGER
from lazyentity.entity import LazyEntity
from lazyentity.operations import raw
from lazyentity.patches.datastore.wrapping import wrap
from lazyentity.snapshot import files
from lazyentity.snapshot.contents import key_of, split, stored_key
from lazyentity.snapshot.errors import CorruptEntity, SnapshotError
from lazyentity.snapshot.files import Reader, Readers, Refreshed
from lazyentity.snapshot.refreshing import refresh

_Row = tuple[bytes, int, bytes]

_ROWS: Final = (
    "SELECT entities.key, contents.dictionary, contents.data "
    "FROM entities LEFT JOIN contents ON contents.number = entities.content"
)
_ROW: Final = f"{_ROWS} WHERE entities.key = ?"
_HASHED_ROW: Final = _ROW.replace("contents.data", "contents.data, contents.hash", 1)


class Source(NamedTuple):
    """The query that a snapshot holds the results of.

    Attributes:
        project, database, namespace, kind: of the query; None if it has none.
        is_whole_kind: whether it has no filter, ancestor or other restriction.
    """

    project: str
    database: str | None
    namespace: str | None
    kind: str | None
    is_whole_kind: bool


class Information(NamedTuple):
    """A description of a snapshot.

    Attributes:
        entities: how many there are.
        contents: how many different contents these have.
        content_bytes: of the compressed contents.
        file_bytes: of the file.
        schema_version: of the file.
        refreshed: when the last refresh ended.
        source: the query of the last refresh; None if it was given entities.
    """

    entities: int
    contents: int
    content_bytes: int
    file_bytes: int
    schema_version: int
    refreshed: datetime.datetime
    source: Source | None


class Snapshot:
    """The results of a query in one file, read back as lazy entities.

    Any number of processes and threads may read while one refreshes: each read sees the state
    before or after a refresh. A reader of many entities sees one state from beginning to end.

    Nothing in the file is executed. Its bytes are decoded like those that a server sends.

    Args:
        path: of the file. It is made by the first :meth:`refresh`; beside it are ``-wal`` and
            ``-shm`` files while it is in use.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._readers = Readers(self.path)

    def __repr__(self) -> str:
        return f"Snapshot({str(self.path)!r})"

    def refresh(
        self,
        query: Query | Iterable[Entity],
        *,
        replace: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Refreshed:
        """Make the snapshot hold the results of a query, all at once when they are complete.

        Readers see the old state until then. An error, or the end of the process at any moment,
        leaves the old state. Nothing is written for entities that did not change.

        Args:
            query: of complete entities: without a projection. Its results are read lazily,
                whatever else is patched. Entities of any other origin are taken, too, with changes.
            replace: write everything anew, also what seems unchanged: after damage, or to train
                the compression again. All entities count as added then.
            progress: called now and then with the number of entities so far.

        Returns:
            How many entities were added, changed, unchanged and removed.

        Raises:
            SnapshotError: the file is foreign, newer or damaged, or cannot be written.
            TypeError: ``query`` gives something that is not an entity.
            ValueError: the query has a projection, or an entity has no complete key.
        """
        source = None
        entities: Iterable[Entity]
        if isinstance(query, Query):
            source, entities = _results(query)
        else:
            entities = query
        # A query is read lazily inside eager(), too: stock entities would have to be encoded again.
        context = contextlib.nullcontext() if source is None else _lazily()
        with files.writing(self.path) as connection, context:
            refreshed = refresh(
                connection,
                map(raw, entities),
                replace=replace,
                progress=progress or (lambda number: None),
            )
            now = datetime.datetime.now(datetime.timezone.utc)
            files.set_setting(connection, "refreshed", now.isoformat())
            files.set_setting(connection, "source", source)
            files.set_setting(connection, "entities", sum(refreshed[:3]))
        return refreshed

    def __len__(self) -> int:
        with self._readers.transaction() as reader:
            return int(files.setting(reader.connection, "entities"))

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, Key) or key.is_partial:
            return False
        with self._readers.transaction() as reader:
            row = reader.connection.execute(
                "SELECT 1 FROM entities WHERE key = ?", (stored_key(key),)
            ).fetchone()
        return row is not None

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
        """Return the entities of keys in their order, None where there is none, of one state.

        Raises:
            CorruptEntity: the bytes of one are damaged.
            TypeError: ``keys`` has something that is not a key.
        """
        with self._readers.transaction() as reader:
            return [self._get(reader, key) for key in keys]

    def _get(self, reader: Reader, key: Key) -> LazyEntity | None:
        if not isinstance(key, Key):
            raise TypeError(f"a snapshot has entities by key, not by {describe_type(key)}")
        try:
            row = reader.connection.execute(_ROW, (stored_key(key),)).fetchone()
        except sqlite3.DatabaseError as error:
            # The page of this row can be damaged, and those of others sound.
            raise CorruptEntity(key, str(error)) from error
        return None if row is None else _entity(reader, row)

    def __iter__(self) -> Iterator[LazyEntity]:
        """Iterate the entities of one state, in the order of their stored keys.

        A damaged entity raises CorruptEntity in its place; the iterator can be continued.
        """
        return itertools.starmap(_entity, self._rows())

    def _rows(self) -> Iterator[tuple[Reader, _Row]]:
        with self._readers.transaction() as reader:
            for row in reader.connection.execute(_ROWS):
                yield reader, row

    def keys(self) -> Iterator[Key]:
        """Iterate the keys of one state, in the order of the entities.

        Raises:
            CorruptEntity: the bytes of a key are damaged.
        """
        with self._readers.transaction() as reader:
            for (stored,) in reader.connection.execute("SELECT key FROM entities"):
                key = key_of(stored)
                if isinstance(key, bytes):
                    raise CorruptEntity(key, "its key cannot be decoded")
                yield key

    def verify(self, progress: Callable[[int], None] | None = None) -> list[SnapshotError]:
        """Read everything and compare it with its hashes.

        Args:
            progress: called for each entity with the number of entities so far.

        Returns:
            A CorruptEntity for each damaged entity, after the damages of the file that are in none.

        Raises:
            SnapshotError: the file is damaged so much that it cannot be opened.
        """
        with self._readers.transaction() as reader:
            checked = [row[0] for row in reader.connection.execute("PRAGMA integrity_check")]
            found = [SnapshotError(f"{self.path}: {text}") for text in checked if text != "ok"]
            keys = reader.connection.execute("SELECT key FROM entities")
            for number, (stored,) in enumerate(keys, start=1):
                try:
                    _verify(reader, stored)
                except CorruptEntity as error:
                    found.append(error)
                if progress is not None:
                    progress(number)
        return found

    def information(self) -> Information:
        """Describe the file.

        Raises:
            SnapshotError: the file is missing, foreign, newer or damaged.
        """
        with self._readers.transaction() as reader:
            connection = reader.connection
            ((contents, content_bytes),) = connection.execute(
                "SELECT count(*), total(length(data)) FROM contents"
            )
            ((version,),) = connection.execute("PRAGMA user_version")
            source = files.setting(connection, "source")
            return Information(
                entities=files.setting(connection, "entities"),
                contents=contents,
                content_bytes=int(content_bytes),
                file_bytes=self.path.stat().st_size,
                schema_version=version,
                refreshed=datetime.datetime.fromisoformat(files.setting(connection, "refreshed")),
                source=None if source is None else Source(*source),
            )

    def close(self) -> None:
        """Close the connections that nobody uses. The snapshot can still be read after it."""
        self._readers.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


@contextlib.contextmanager
def _lazily() -> Iterator[None]:
    token = EAGER.set(False)
    try:
        yield
    finally:
        EAGER.reset(token)


def _entity(reader: Reader, row: _Row) -> LazyEntity:
    """Return the entity of a row.

    Raises:
        CorruptEntity: its bytes are damaged.
    """
    key, dictionary, data = row
    try:
        return LazyEntity.from_bytes(key + reader.decompressor.content(dictionary, data))
    except (ValueError, DecodeError) as error:
        raise CorruptEntity(key_of(key), str(error)) from error


def _verify(reader: Reader, stored: bytes) -> None:
    """Read an entity and compare it with its hash.

    Raises:
        CorruptEntity: it is damaged.
    """
    try:
        *row, digest = reader.connection.execute(_HASHED_ROW, (stored,)).fetchone()
    except sqlite3.DatabaseError as error:
        raise CorruptEntity(key_of(stored), str(error)) from error
    entity = _entity(reader, tuple(row))
    try:
        computed = split(raw(entity)).hash
    except (ValueError, DecodeError) as error:
        raise CorruptEntity(key_of(stored), str(error)) from error
    if computed != digest:
        raise CorruptEntity(key_of(stored), "its bytes have another hash")


def _results(query: Query) -> tuple[Source, Iterable[Entity]]:
    """Return a description of a query, and its results.

    Raises:
        ValueError: it has a projection.
    """
    if query.projection:
        raise ValueError(
            "the results of a projection are incomplete, and putting one back would delete the "
            "other properties; refresh() takes a query without a projection"
        )
    # As for eager(), whatever the process is.
    results = wrap(query, eager=False).fetch()
    is_restricted = query.filters or query.ancestor or query.distinct_on
    source = Source(
        query.project,
        results.client.database,
        query.namespace,
        query.kind,
        is_whole_kind=query.kind is not None and not is_restricted,
    )
    return source, results
