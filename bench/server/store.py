"""The committed entities, and the open transactions.

Concurrency is optimistic:

- Reads inside a transaction see the state in which it began. They never see its own writes, which
  travel with the Commit.
- A commit that writes fails with ABORTED when anything that the transaction read has changed since,
  entities that a query would newly match included.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import grpc

from .errors import DatastoreError, invalid_argument
from .keys import (
    KEY_PROPERTY,
    SCATTER_PROPERTY,
    EntityKey,
    IndexedValue,
    Partition,
    Path,
    Scope,
    index_properties,
    key_value,
    scatter_values,
)
from .schema import Entity, EntityResult, Key, Message, refuse, timestamp


# Frozen ones take several times as long to make.
@dataclass(eq=False)
class Record:
    """One committed version of an entity. Times are nanoseconds since the epoch."""

    key: EntityKey
    key_wire: bytes
    """The Key message, serialised."""
    wire: bytes
    """The Entity message, serialised."""
    version: int
    create_time: int
    update_time: int

    @cached_property
    def index(self) -> Mapping[str, tuple[IndexedValue, ...]]:
        """The values under which the entity is found; built when a query first asks for them."""
        return _Index(self)

    @cached_property
    def key_value(self) -> IndexedValue:
        """The value of ``__key__``."""
        return key_value(self.key, Key.FromString(self.key_wire))

    @cached_property
    def result_tail(self) -> bytes:
        """The fields of a full EntityResult that come after the entity and the cursor."""
        return _result_tail(self.version, self.create_time, self.update_time)


# The entities of a commit mostly share all of them.
@lru_cache(maxsize=1024)
def _result_tail(version: int, create_time: int, update_time: int) -> bytes:
    result = EntityResult(
        version=version, create_time=timestamp(create_time), update_time=timestamp(update_time)
    )
    return bytes(result.SerializeToString())


class _Index(dict[str, tuple[IndexedValue, ...]]):
    """The values under which an entity is found, made as they are asked for.

    The entity is parsed only for its own properties, which a query of a range of keys does not ask
    for.
    """

    def __init__(self, record: Record) -> None:
        super().__init__()
        self._record = record
        self._is_parsed = False

    def get(self, name: str, default: Any = None, /) -> Any:
        """As dict."""
        if name not in self:
            if name == KEY_PROPERTY:
                self[name] = (self._record.key_value,)
            elif name == SCATTER_PROPERTY:
                self[name] = scatter_values(self._record.key)
            elif not self._is_parsed:
                self.update(index_properties(Entity.FromString(self._record.wire)))
                # Last: another thread may ask at the same time.
                self._is_parsed = True
        return super().get(name, default)


class Reader(Protocol):
    """A consistent state of the entities to read from."""

    @property
    def version(self) -> int:
        """Version of the last commit that this state contains."""

    def read(self, keys: Sequence[EntityKey]) -> list[Record | None]:
        """The records of ``keys``, in their order; None for an entity that does not exist."""

    def scan(self, partition: Partition, kind: str | None) -> list[Record]:
        """All records of a partition, of a kind or (None) of all, in no particular order."""


class Store:
    """The committed entities. Every method may be called from any thread.

    ``lock`` makes several calls one step; it may be taken again by the thread that holds it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.version = 1
        """Version of the last commit; grows with each."""
        self._kinds: dict[Partition, dict[str, dict[Path, Record]]] = {}
        self._open: dict[bytes, Transaction] = {}

    def get(self, key: EntityKey) -> Record | None:
        """The record of ``key``, None when there is no such entity."""
        return self._kinds.get(key.partition, {}).get(key.kind, {}).get(key.path)

    def read(self, keys: Sequence[EntityKey]) -> list[Record | None]:
        """See :class:`Reader`."""
        with self.lock:
            return [self.get(key) for key in keys]

    def scan(self, partition: Partition, kind: str | None) -> list[Record]:
        """See :class:`Reader`."""
        with self.lock:
            kinds = self._kinds.get(partition, {})
            scanned = kinds.values() if kind is None else [kinds.get(kind, {})]
            return [record for records in scanned for record in records.values()]

    def begin(self, options: Message, scope: Scope) -> Transaction:
        """Open a transaction as a TransactionOptions message asks; those that expired are ended."""
        refuse(options.read_only, "read_time")
        # A previous transaction is a hint for a server that locks: nothing to do here.
        read_only = options.WhichOneof("mode") == "read_only"
        with self.lock:
            begun = Transaction(self, scope, read_only=read_only)
            alive = {old.id: old for old in self._open.values() if not old.has_expired}
            self._open = {**alive, begun.id: begun}
        return begun

    def transaction(self, identifier: bytes, scope: Scope) -> Transaction:
        """The open transaction of that id; INVALID_ARGUMENT when there is none in ``scope``."""
        transaction = self._open.get(identifier)
        if transaction is None or transaction.scope != scope or transaction.has_expired:
            raise invalid_argument("the transaction is unknown, has ended or has expired")
        return transaction

    def end(self, identifier: bytes, scope: Scope) -> Transaction:
        """Close a transaction, which must not read after the next commit.

        Raises INVALID_ARGUMENT as :meth:`transaction` does.
        """
        with self.lock:
            transaction = self.transaction(identifier, scope)
            del self._open[identifier]
        return transaction

    def commit(self, writes: Mapping[EntityKey, PendingWrite | None]) -> Commit:
        """Apply all of ``writes`` as one version; None deletes."""
        with self.lock:
            self.version += 1
            now = time.time_ns()
            commit = Commit(self.version, now, {})
            for key, write in writes.items():
                records = self._kinds.setdefault(key.partition, {}).setdefault(key.kind, {})
                existing = records.get(key.path)
                for transaction in self._open.values():
                    transaction.keep(key, existing)
                if write is None:
                    records.pop(key.path, None)
                else:
                    created = existing.create_time if existing else now
                    commit.records[key] = records[key.path] = Record(
                        key, write.key_wire, write.wire, commit.version, created, now
                    )
            return commit


class PendingWrite(NamedTuple):
    """An entity to be stored: its Key and itself, serialised."""

    key_wire: bytes
    wire: bytes


class Commit(NamedTuple):
    """A commit: its version, its time in nanoseconds since the epoch, and the entities stored."""

    version: int
    time: int
    records: dict[EntityKey, Record]


LIFETIME_SECONDS = 270.0
"""Datastore's own limit. Without one, a client that never ends its transactions would have the
store keep every version from then on."""


class Transaction:
    """An open transaction: a :class:`Reader` of the state in which it began.

    It holds only the records overwritten since, which commits hand it, and notes what it reads.
    """

    def __init__(self, store: Store, scope: Scope, *, read_only: bool) -> None:
        self.id = secrets.token_bytes(16)
        self.scope = scope
        self.read_only = read_only
        self.version = store.version
        self._deadline = time.monotonic() + LIFETIME_SECONDS
        self._store = store
        self._before: dict[EntityKey, Record | None] = {}
        self._keys: set[EntityKey] = set()
        self._queries: list[Callable[[Record], bool]] = []

    @property
    def has_expired(self) -> bool:
        """Whether its lifetime is over."""
        return self._deadline < time.monotonic()

    def keep(self, key: EntityKey, record: Record | None) -> None:
        """Remember the entity of ``key``, unless an earlier commit has already changed it."""
        self._before.setdefault(key, record)

    def read(self, keys: Sequence[EntityKey]) -> list[Record | None]:
        """See :class:`Reader`."""
        self._keys.update(keys)
        with self._store.lock:
            before = self._before
            return [before[key] if key in before else self._store.get(key) for key in keys]

    def scan(self, partition: Partition, kind: str | None) -> list[Record]:
        """See :class:`Reader`; tell :meth:`depend_on` which of the records mattered."""
        with self._store.lock:
            before = self._before
            unchanged = [
                record for record in self._store.scan(partition, kind) if record.key not in before
            ]
            replaced = [
                record
                for key, record in before.items()
                if record and key.partition == partition and kind in (None, key.kind)
            ]
            return unchanged + replaced

    def depend_on(self, matches: Callable[[Record], bool]) -> None:
        """Note a query: from now on a change to a record that it matches is a conflict."""
        self._queries.append(matches)

    def check(self) -> None:
        """Raise ABORTED when something that this transaction has read was changed since."""
        with self._store.lock:
            for key, then in self._before.items():
                seen = key in self._keys or any(
                    record is not None and matches(record)
                    for matches in self._queries
                    for record in (then, self._store.get(key))
                )
                if seen:
                    raise DatastoreError(
                        grpc.StatusCode.ABORTED,
                        f"{key} was changed by another commit since this transaction began; "
                        "try again",
                    )
