"""The committed entities, and the open transactions.

A commit fails with ABORTED if an entity that its transaction read was changed since. That is all: a
transaction reads what is committed at the time, and does not notice entities that its queries would
find now.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import grpc

from .errors import Refusal, invalid_argument
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
    scatter_value,
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

    def values(self, name: str) -> Sequence[IndexedValue]:
        """The values of a property under which the entity is found.

        The entity is parsed only for its own properties, which a query of a range of keys does not
        ask for.
        """
        if name == KEY_PROPERTY:
            return (self.key_value,)
        if name == SCATTER_PROPERTY:
            return (scatter_value(self.key),)
        return self._index.get(name, ())

    @cached_property
    def _index(self) -> Mapping[str, tuple[IndexedValue, ...]]:
        return index_properties(Entity.FromString(self.wire))

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


class PendingWrite(NamedTuple):
    """An entity to be stored: its Key and itself, serialised."""

    key_wire: bytes
    wire: bytes


class Commit(NamedTuple):
    """A commit: its version, its time in nanoseconds since the epoch, and the entities stored."""

    version: int
    time: int
    records: dict[EntityKey, Record]


@dataclass
class Transaction:
    """An open transaction, with the versions of the entities that it has read: 0 for none."""

    scope: Scope
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    versions: dict[EntityKey, int] = field(default_factory=dict)

    def note(self, keys: Iterable[EntityKey], records: Iterable[Record | None]) -> None:
        """Remember what was read, in the version in which it was read first."""
        for key, record in zip(keys, records, strict=True):
            self.versions.setdefault(key, record.version if record else 0)


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

    def scan(self, partition: Partition, kind: str | None) -> list[Record]:
        """All records of a partition, of a kind or (None) of all, in no particular order."""
        with self.lock:
            kinds = self._kinds.get(partition, {})
            scanned = kinds.values() if kind is None else [kinds.get(kind, {})]
            return [record for records in scanned for record in records.values()]

    def begin(self, options: Message, scope: Scope) -> Transaction:
        """Open a transaction as a TransactionOptions message asks."""
        refuse(options.read_only, "read_time")
        # A previous transaction is a hint for a server that locks: nothing to do here.
        begun = Transaction(scope)
        self._open[begun.id] = begun
        return begun

    def transaction(self, identifier: bytes, scope: Scope) -> Transaction:
        """The open transaction of that id; INVALID_ARGUMENT when there is none in ``scope``."""
        transaction = self._open.get(identifier)
        if transaction is None or transaction.scope != scope:
            raise invalid_argument("the transaction is unknown or has ended")
        return transaction

    def end(self, identifier: bytes, scope: Scope) -> Transaction:
        """Close a transaction.

        Raises INVALID_ARGUMENT as :meth:`transaction` does.
        """
        with self.lock:
            transaction = self.transaction(identifier, scope)
            del self._open[identifier]
        return transaction

    def check(self, transaction: Transaction) -> None:
        """Raise ABORTED when something that a transaction has read was changed since."""
        with self.lock:
            for key, version in transaction.versions.items():
                record = self.get(key)
                if (record.version if record else 0) != version:
                    raise Refusal(
                        grpc.StatusCode.ABORTED,
                        f"{key} was changed by another commit since this transaction read it; "
                        "try again",
                    )

    def commit(self, writes: Mapping[EntityKey, PendingWrite | None]) -> Commit:
        """Apply all of ``writes`` as one version; None deletes."""
        with self.lock:
            self.version += 1
            now = time.time_ns()
            commit = Commit(self.version, now, {})
            for key, write in writes.items():
                records = self._kinds.setdefault(key.partition, {}).setdefault(key.kind, {})
                existing = records.get(key.path)
                if write is None:
                    records.pop(key.path, None)
                else:
                    created = existing.create_time if existing else now
                    commit.records[key] = records[key.path] = Record(
                        key, write.key_wire, write.wire, commit.version, created, now
                    )
            return commit
