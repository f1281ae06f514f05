"""The snapshot as its users see it."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore.query import Query

from lazyentity._dispatch import operations_of
from lazyentity._mode import EAGER
from lazyentity._types import describe_type, require_entity, require_several
from lazyentity.entity import LazyEntity
from lazyentity.operations import raw
from lazyentity.patches.datastore.wrapping import wrap
from lazyentity.snapshot import rows, schema
from lazyentity.snapshot.connections import (
    MAX_CELL_BYTES,
    REFUSED,
    Connection,
    require_this_process,
)
from lazyentity.snapshot.errors import SnapshotError
from lazyentity.snapshot.files import Refreshed, version_of, writing
from lazyentity.snapshot.payloads import stored_key
from lazyentity.snapshot.readers import Reader, Readers
from lazyentity.snapshot.refreshing import digest, refresh
from lazyentity.snapshot.replacing import replacing
from lazyentity.snapshot.verifying import damages

_DATA = schema.bounded("data", MAX_CELL_BYTES)


class Source(NamedTuple):
    """The query whose results a snapshot holds.

    Attributes:
        project, database, namespace, kind: of the query; None if it has none.
        is_whole_kind: whether the query has no filter, ancestor or other restriction.
    """

    project: str
    database: str | None
    namespace: str | None
    kind: str | None
    is_whole_kind: bool


class Information(NamedTuple):
    """A description of a snapshot.

    Attributes:
        entities: the number of entities.
        contents: the number of different contents.
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

    Any number of processes and threads may read during a refresh: each read sees the state before
    or after the refresh. A reader of many entities sees one state from beginning to end.

    Nothing in the file is executed. Its bytes are decoded like a server's response.

    Args:
        path: of the file. The first :meth:`refresh` makes it; ``-wal`` and ``-shm`` files are
            beside it while it is in use.
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
        allow_empty: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Refreshed:
        """Make the snapshot hold the results of a query, all at once when they are complete.

        Readers see the old state until then. An error, or the end of the process at any moment,
        leaves the old state. Nothing is written for entities that did not change.

        Args:
            query: a query, neither keys-only nor with a projection, whose results are read lazily,
                patched or not. Or an iterable of entities of any origin, which are stored with
                their changes.
            replace: write everything anew, in a new file that takes the place of the old one: after
                damage, or to train the compression again. All entities count as added then, and
                those that the old file says it had as removed. A file of an earlier version is
                always written anew.
            allow_empty: whether there may be no entity at all.
            progress: called now and then with the number of entities so far.

        Returns:
            How many entities were added, changed, unchanged and removed.

        Raises:
            SnapshotError: the file is foreign, newer or damaged, or cannot be written; or ``query``
                gives nothing.
            TypeError: ``query`` gives something that is not an entity.
            ValueError: the query is keys-only or has a projection, or an entity has no complete
                key.
        """
        source = None
        entities: Iterable[Entity]
        if isinstance(query, Query):
            source, entities = _results(query)
        else:
            require_several("refresh", query)
            # Copied: encoding can run code that changes it, and an entity would be left out.
            entities = list(query) if isinstance(query, Collection) else query
        # A query is read lazily inside eager(), too: stock entities would have to be encoded again.
        context = contextlib.nullcontext() if source is None else _lazily()
        is_anew = replace or version_of(self.path) == 1
        opened = replacing if is_anew else writing
        before = self._entities_before() if is_anew else 0
        try:
            with opened(self.path) as connection, context:
                refreshed = refresh(
                    connection,
                    map(_serialised, self._of_caller(connection, entities)),
                    progress=progress or (lambda number: None),
                )
                count = sum(refreshed[:3])
                if not count and not allow_empty:
                    raise SnapshotError(
                        f"the query gave no entity, and {self.path} stays as it is; if that is "
                        "right, pass allow_empty=True or --allow-empty"
                    )
                now = datetime.datetime.now(datetime.timezone.utc)
                schema.set_setting(connection, "refreshed", now.isoformat())
                schema.set_setting(connection, "source", source)
                schema.set_setting(connection, "entities", count)
                schema.set_setting(connection, "digest", digest(connection))
        except _CallersError as error:
            raise error.error from error.error.__cause__
        return refreshed._replace(removed=before) if is_anew else refreshed

    def _entities_before(self) -> int:
        """Return how many entities there are; 0 if nothing says it."""
        try:
            return len(self)
        except SnapshotError:
            return 0

    def _of_caller(self, connection: Connection, entities: Iterable[Entity]) -> Iterator[Entity]:
        given = iter(entities)
        while True:
            try:
                entity = next(given)
            except StopIteration:
                return
            except REFUSED as error:
                raise _CallersError(error) from error
            finally:
                # The caller's iterator can fork, and go on in both processes.
                require_this_process(connection, self.path)
            yield entity

    def __len__(self) -> int:
        with self._readers.transaction() as reader:
            return schema.setting(reader.connection, "entities", schema.whole)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, Key) or key.is_partial:
            return False
        with self._readers.transaction() as reader:
            return rows.is_there(reader, stored_key(key))

    def __getitem__(self, key: Key) -> LazyEntity:
        """Return the entity of a key, a new object each time.

        Raises:
            KeyError: there is none.
            CorruptEntity: its bytes are damaged.
            SnapshotError: damage hides whether there is one.
        """
        (entity,) = self.get_many([key])
        if entity is None:
            raise KeyError(key)
        return entity

    def get_many(self, keys: Iterable[Key]) -> list[LazyEntity | None]:
        """Return the entities of keys in their order, None if missing, all of the same state.

        Raises:
            CorruptEntity: the bytes of an entity are damaged.
            SnapshotError: damage hides whether there is an entity.
            TypeError: ``keys`` has something that is not a key.
        """
        # First: an error of the caller's iterator is none of the file.
        wanted = list(keys)
        with self._readers.transaction() as reader:
            return [self._get(reader, key) for key in wanted]

    def _get(self, reader: Reader, key: Key) -> LazyEntity | None:
        if not isinstance(key, Key):
            raise TypeError(f"a snapshot has entities by key, not by {describe_type(key)}")
        stored = stored_key(key)
        row = rows.one(reader, stored)
        if row is not None:
            return rows.entity(reader, row)
        if rows.is_there(reader, stored):
            raise rows.lost()
        return None

    def __iter__(self) -> Iterator[LazyEntity]:
        """Iterate a consistent state of the entities, in the order of their stored keys.

        A damaged entity raises CorruptEntity in its place; the iterator can be continued. If
        damage hides that there are others, SnapshotError is raised in the end, or CorruptEntity was
        before.
        """
        return itertools.starmap(rows.entity, self._rows())

    def _rows(self) -> Iterator[tuple[Reader, rows.Row]]:
        with self._readers.transaction() as reader:
            yield from rows.every(reader)

    def keys(self) -> Iterator[Key]:
        """Iterate a consistent state of the keys, in the order of the entities.

        Raises:
            CorruptEntity: the bytes of a key are damaged.
            SnapshotError: keys are damaged, missing or repeated.
        """
        with self._readers.transaction() as reader:
            yield from rows.keys(reader)

    def verify(self, progress: Callable[[int], None] | None = None) -> list[SnapshotError]:
        """Read everything and compare it with its hashes.

        Args:
            progress: called for each entity with the number of entities so far.

        Returns:
            The damages of the file outside of entities, then a CorruptEntity for each damaged one.

        Raises:
            SnapshotError: the file is damaged so much that it cannot be opened.
        """
        with self._readers.transaction() as reader:
            return damages(reader, progress or (lambda number: None))

    def information(self) -> Information:
        """Describe the file.

        Raises:
            SnapshotError: the file is missing, foreign, newer or damaged.
        """
        with self._readers.transaction() as reader:
            connection = reader.connection
            ((contents, content_bytes),) = connection.execute(
                f"SELECT count(*), total(length({_DATA})) FROM contents"  # noqa: S608  # a constant
            )
            ((version,),) = connection.execute("PRAGMA user_version")
            return Information(
                entities=schema.setting(connection, "entities", schema.whole),
                contents=contents,
                content_bytes=int(content_bytes),
                file_bytes=self.path.stat().st_size,
                schema_version=version,
                refreshed=schema.setting(connection, "refreshed", datetime.datetime.fromisoformat),
                source=schema.setting(
                    connection, "source", lambda value: None if value is None else Source(*value)
                ),
            )

    def close(self) -> None:
        """Close the unused connections. The snapshot can still be read afterwards."""
        self._readers.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class _CallersError(Exception):
    """An error that the caller's iterator raised, as a damaged file could: it is none of it."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@contextlib.contextmanager
def _lazily() -> Iterator[None]:
    token = EAGER.set(False)
    try:
        yield
    finally:
        EAGER.reset(token)


def _serialised(entity: Any) -> bytes:
    if operations_of(entity) is None:
        require_entity("refresh", entity)
    return raw(entity)


def _results(query: Query) -> tuple[Source, Iterable[Entity]]:
    """Return a description of a query, and its results.

    Raises:
        ValueError: the query is keys-only or has a projection.
    """
    # As Query.keys_only() sets it.
    if query.projection == ["__key__"]:
        raise ValueError(
            "a keys-only query gives no properties, and putting one of its entities back would "
            "delete them; refresh() takes a query without keys_only()"
        )
    if query.projection:
        raise ValueError(
            "the results of a projection are incomplete, and putting one back would delete the "
            "other properties; refresh() takes a query without a projection"
        )
    # Lazily, as inside eager() too, whatever the mode of the process.
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
