"""Packing a property of all entities of a kind that are stored already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from google.api_core.exceptions import Conflict
from google.cloud import datastore
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity._types import describe_type
from lazyentity.codec.describing import safe_str
from lazyentity.packed.format import is_packed, pack

PAGE = 100
"""Entities that are read at a time."""

_TRANSACTION_BYTES = 8 * 1024 * 1024  # a commit may have 10 MiB
_ENTITY_BYTES = 1024 * 1024 - 4  # an entity may have
_ATTEMPTS = 5


@dataclass
class LeftAlone:
    """The entities that were not changed for one reason.

    Attributes:
        count: how many there are.
        key: the key of the first entity.
        detail: the error of the first entity; empty, if the reason says all.
    """

    count: int
    key: datastore.Key
    detail: str


@dataclass
class Report:
    """The state of a migration.

    Attributes:
        seen: entities that were read.
        packed: entities that were written, or would be.
        left: the other entities, by the reason.
        bytes_before: of the written entities, before.
        bytes_after: of the written entities, after.
        cursor: where to continue, None in the end.
    """

    seen: int = 0
    packed: int = 0
    left: dict[str, LeftAlone] = field(default_factory=dict)
    bytes_before: int = 0
    bytes_after: int = 0
    cursor: bytes | None = None

    def leave(self, entity: datastore.Entity, reason: str, detail: str) -> None:
        """Count an entity that stays as it is."""
        found = self.left.setdefault(reason, LeftAlone(0, entity.key, detail))
        found.count += 1

    def write(self, before: int, after: int) -> None:
        """Count an entity that is written, of ``before`` bytes, with ``after`` bytes."""
        self.packed += 1
        self.bytes_before += before
        self.bytes_after += after


@dataclass(frozen=True)
class _Kept:
    """The reason why an entity stays as it is, and the error if there is one."""

    reason: str
    detail: str = ""


ALREADY_PACKED = "packed already"


def _packed(entity: datastore.Entity, name: str, compress_from: int) -> bytes | _Kept:
    """Return the packed value of a property, or the reason why it stays as it is."""
    if name not in entity:
        return _Kept("without the property")
    try:
        value = entity[name]
        if value is None:
            return _Kept("null")
        if isinstance(value, bytes):
            return _Kept(ALREADY_PACKED if is_packed(value) else "bytes of another format")
        if not isinstance(value, (dict, list)):
            return _Kept(f"a value of type {describe_type(value)}")
        return pack(value, compress_from=compress_from)
    except (TypeError, ValueError, OverflowError) as error:
        return _Kept("cannot be packed", safe_str(error))
    except DecodeError as error:
        return _Kept("cannot be read", safe_str(error))


@dataclass(frozen=True)
class Migration:
    """Packs a property of all entities of a kind.

    Each entity is read again and written in a transaction, so no change that another program makes
    meanwhile is lost. An entity that is packed already is never written, so a migration can be run
    any number of times.

    Args:
        client: of the entities. If it is patched, the other properties are written as they came.
        kind: of the entities.
        name: of the property.
        compress_from: as of :func:`lazyentity.packed.pack`.
        dry_run: whether nothing is written.
    """

    client: datastore.Client
    kind: str
    name: str
    compress_from: int
    dry_run: bool = False

    def run(
        self, report: Report, cursor: bytes | None = None, page: int = PAGE
    ) -> Iterator[Report]:
        """Migrate page by page.

        Args:
            report: is filled, and yielded after each page.
            cursor: of the page to start at; None for the first.
            page: entities that are read at a time.

        Yields:
            The report after each page. Everything that it counts is committed.

        Raises:
            google.api_core.exceptions.GoogleAPICallError: as the client raises it. The cursor of
                the report tells where to continue.
        """
        report.cursor = cursor
        while True:
            fetched = self.client.query(kind=self.kind).fetch(
                start_cursor=report.cursor, limit=page
            )
            entities = list(fetched)
            report.seen += len(entities)
            for group in self._groups(entities, report):
                self._write(group, report)
            report.cursor = fetched.next_page_token if len(entities) == page else None
            yield report
            if report.cursor is None:
                return

    def _groups(
        self, entities: Sequence[datastore.Entity], report: Report
    ) -> Iterator[list[datastore.Key]]:
        """Yield the keys of the entities to write, as many at a time as a commit has room for."""
        group: list[datastore.Key] = []
        total = 0
        for entity in entities:
            size = len(lazyentity.raw(entity))
            outcome = self._pack(entity)
            if isinstance(outcome, _Kept):
                report.leave(entity, outcome.reason, outcome.detail)
            elif self.dry_run:
                report.write(size, outcome)
            else:
                # A packed value that is not compressed can take more bytes than before.
                size = max(size, outcome)
                if group and total + size > _TRANSACTION_BYTES:
                    yield group
                    group, total = [], 0
                group.append(entity.key)
                total += size
        if group:
            yield group

    def _pack(self, entity: datastore.Entity) -> int | _Kept:
        """Pack the property of an entity in memory, and return the size of the whole entity."""
        packed = _packed(entity, self.name, self.compress_from)
        if isinstance(packed, _Kept):
            return packed
        entity[self.name] = packed
        # Datastore indexes no bytes of that size.
        entity.exclude_from_indexes.add(self.name)
        size = len(lazyentity.raw(entity))
        # Bytes inside of a document take a little more than before. One entity that is too large
        # would make the server refuse the whole commit, in every run.
        if size > _ENTITY_BYTES:
            return _Kept("too large when packed", f"{size:,} of at most {_ENTITY_BYTES:,} bytes")
        return size

    def _write(self, keys: list[datastore.Key], report: Report) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                written, kept = self._write_once(keys)
                break
            except Conflict:
                # Another transaction changed an entity. Over gRPC the error is Aborted, a subclass.
                if attempt == _ATTEMPTS:
                    raise
        for before, after in written:
            report.write(before, after)
        for entity, outcome in kept:
            report.leave(entity, outcome.reason, outcome.detail)

    def _write_once(
        self, keys: list[datastore.Key]
    ) -> tuple[list[tuple[int, int]], list[tuple[datastore.Entity, _Kept]]]:
        written: list[tuple[int, int]] = []
        kept: list[tuple[datastore.Entity, _Kept]] = []
        missing: list[datastore.Entity] = []
        with self.client.transaction() as transaction:
            for entity in self.client.get_multi(keys, missing=missing):
                before = len(lazyentity.raw(entity))
                outcome = self._pack(entity)
                if isinstance(outcome, _Kept):
                    kept.append((entity, outcome))
                    continue
                written.append((before, outcome))
                transaction.put(entity)
        return written, [*kept, *((entity, _Kept("deleted meanwhile")) for entity in missing)]


def count_of(client: datastore.Client, kind: str) -> int:
    """Return the number of entities of a kind.

    Raises:
        google.api_core.exceptions.GoogleAPICallError: as the client raises it.
    """
    counting = client.aggregation_query(client.query(kind=kind)).count(alias="all")
    ((result,),) = counting.fetch()
    return int(result.value)
