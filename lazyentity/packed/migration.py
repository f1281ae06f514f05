"""Packing a property of all entities of a kind that are stored already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import requests
from google.api_core.exceptions import Conflict, GatewayTimeout, ServiceUnavailable
from google.api_core.retry import Retry, if_exception_type
from google.cloud import datastore
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity._types import describe_type
from lazyentity.codec.describing import safe_str
from lazyentity.packed.format import UnpackError, is_packed, pack
from lazyentity.packed.jsonbytes import document_of_json

PAGE = 100
"""Entities that are read at a time."""

_TRANSACTION_BYTES = 8 * 1024 * 1024  # a commit may have 10 MiB
_TRANSACTION_ENTITIES = 25  # Google's emulator takes no more entity groups
_ENTITY_BYTES = 1024 * 1024 - 4  # an entity may have
_ATTEMPTS = 5
_RETRY_SECONDS = 60.0  # as the client
_COUNT_SECONDS = 10.0
_REQUEST_SECONDS = 20.0

_is_unavailable = if_exception_type(
    GatewayTimeout,
    ServiceUnavailable,
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
)

OnWait = Callable[[Exception], None]
"""Is told the error of a request before it is sent again."""

_Done = TypeVar("_Done")


def _policy(seconds: float, on_wait: OnWait | None) -> Retry:
    """Return the policy by which the client retries look-ups and queries, for some seconds."""
    return Retry(
        predicate=_is_unavailable,
        initial=0.1,
        maximum=60.0,
        multiplier=1.3,
        deadline=seconds,
        on_error=on_wait,
    )


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
WITHOUT_PROPERTY = "without the property"


def _packed(entity: datastore.Entity, name: str, compress_from: int) -> bytes | _Kept:
    """Return the packed value of a property, or the reason why it stays as it is."""
    if name not in entity:
        return _Kept(WITHOUT_PROPERTY)
    try:
        value = entity[name]
        if value is None:
            return _Kept("null")
        if isinstance(value, bytes):
            if is_packed(value):
                return _Kept(ALREADY_PACKED)
            try:
                value = document_of_json(value)
            except UnpackError as error:
                return _Kept("bytes of another format", safe_str(error))
        elif not isinstance(value, (dict, list)):
            return _Kept(f"a value of type {describe_type(value)}")
        return pack(value, compress_from=compress_from)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return _Kept("cannot be packed", safe_str(error))
    except DecodeError as error:
        return _Kept("cannot be read", safe_str(error))


@dataclass(frozen=True)
class _Sent:
    """A property that was sent, and the sizes of its entity before and after."""

    value: bytes
    sizes: tuple[int, int]


_Outcome = tuple[list[tuple[int, int]], list[tuple[datastore.Entity, _Kept]]]


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
        on_wait: is told of each wait for a server that is not available.
    """

    client: datastore.Client
    kind: str
    name: str
    compress_from: int
    dry_run: bool = False
    on_wait: OnWait | None = None

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
            google.api_core.exceptions.RetryError: the server was not available for a minute.
        """
        report.cursor = cursor
        while True:
            entities, following = self._retried(lambda: self._page(report.cursor, page))
            report.seen += len(entities)
            for group in self._groups(entities, report):
                self._write(group, report)
            report.cursor = following if len(entities) == page else None
            yield report
            if report.cursor is None:
                return

    def _options(self) -> dict[str, Any]:
        """Return the options of a read: the client's own would not tell of its waits."""
        return {"retry": _policy(_RETRY_SECONDS, self.on_wait), "timeout": _REQUEST_SECONDS}

    def _retried(self, call: Callable[[], _Done]) -> _Done:
        return _policy(_RETRY_SECONDS, self.on_wait)(call)()

    def _page(self, cursor: bytes | None, size: int) -> tuple[list[datastore.Entity], bytes | None]:
        query = self.client.query(kind=self.kind)
        fetched = query.fetch(start_cursor=cursor, limit=size, **self._options())
        return list(fetched), fetched.next_page_token

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
                is_full = len(group) == _TRANSACTION_ENTITIES
                if group and (is_full or total + size > _TRANSACTION_BYTES):
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
        sent: dict[datastore.Key, _Sent] = {}
        written, kept = self._retried(lambda: self._write_despite_conflicts(keys, sent))
        for before, after in written:
            report.write(before, after)
        for entity, outcome in kept:
            report.leave(entity, outcome.reason, outcome.detail)

    def _write_despite_conflicts(
        self, keys: list[datastore.Key], sent: dict[datastore.Key, _Sent]
    ) -> _Outcome:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._write_once(keys, sent)
            except Conflict:
                # Another transaction changed an entity. Over gRPC the error is Aborted, a subclass.
                continue
        return self._write_once(keys, sent)

    def _write_once(self, keys: list[datastore.Key], sent: dict[datastore.Key, _Sent]) -> _Outcome:
        """Pack entities in a transaction.

        Args:
            keys: of the entities.
            sent: what earlier attempts sent, and this one. Their commits may have succeeded.
        """
        written: list[tuple[int, int]] = []
        kept: list[tuple[datastore.Entity, _Kept]] = []
        missing: list[datastore.Entity] = []
        options = self._options()
        with self.client.transaction() as transaction:
            for entity in self.client.get_multi(keys, missing=missing, **options):
                before = len(lazyentity.raw(entity))
                outcome = self._pack(entity)
                if not isinstance(outcome, _Kept):
                    written.append((before, outcome))
                    sent[entity.key] = _Sent(entity[self.name], (before, outcome))
                    transaction.put(entity)
                    continue
                earlier = sent.get(entity.key)
                if earlier is not None and entity.get(self.name) == earlier.value:
                    written.append(earlier.sizes)
                else:
                    kept.append((entity, outcome))
        return written, [*kept, *((entity, _Kept("deleted meanwhile")) for entity in missing)]


def count_of(client: datastore.Client, kind: str, on_wait: OnWait | None = None) -> int:
    """Return the number of entities of a kind, unless that takes more than ten seconds.

    Args:
        client: of the entities.
        kind: of the entities.
        on_wait: as of :class:`Migration`.

    Raises:
        google.api_core.exceptions.GoogleAPICallError: as the client raises it.
        google.api_core.exceptions.RetryError: the server was not available.
    """
    counting = client.aggregation_query(client.query(kind=kind)).count(alias="all")
    retry = _policy(_COUNT_SECONDS, on_wait)
    ((result,),) = counting.fetch(retry=retry, timeout=_COUNT_SECONDS)
    return int(result.value)
