"""The RPCs that write, and the mutations of a commit.

Mutations are applied one after the other to a state that nobody else sees yet.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import grpc

from . import wire
from .errors import DatastoreError, invalid_argument
from .keys import (
    EntityKey,
    Scope,
    is_incomplete,
    resolve_complete,
    resolve_key,
    resolve_wire,
)
from .schema import METHODS, Key, Message, MutationResult, enum_name, refuse, timestamp
from .store import Commit, PendingWrite, Store

MAX_ENTITY_BYTES = 1024 * 1024 - 4
"""Datastore's limit for one entity. Any such entity fits into one response."""

_FIRST_ID = 1 << 50
"""Allocated ids start far above those that people choose, and stay exact in a double."""


class IdAllocator:
    """Ids for incomplete keys, each given out once. May be used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = itertools.count(_FIRST_ID)
        self._reserved: set[EntityKey] = set()
        self._lock = threading.Lock()

    def complete(self, key: Message, scope: Scope) -> EntityKey:
        """Write an unused id into the last path element of ``key``.

        Raises INVALID_ARGUMENT when another element is incomplete.
        """
        with self._lock:
            while True:
                key.path[-1].id = next(self._next)
                identity = resolve_key(key, scope)
                if identity not in self._reserved and self._store.get(identity) is None:
                    return identity

    def reserve(self, keys: Iterable[EntityKey]) -> None:
        """Never give out these keys' ids."""
        with self._lock:
            self._reserved.update(keys)


class Staged(NamedTuple):
    """One mutation, applied: the key it wrote, and whether its id was allocated for it."""

    key: EntityKey
    key_wire: bytes
    allocated: bool


class Staging:
    """The writes of a commit; hold the store's lock while using this object."""

    def __init__(self, store: Store, ids: IdAllocator, scope: Scope) -> None:
        self.writes: dict[EntityKey, PendingWrite | None] = {}
        self._store = store
        self._ids = ids
        self._scope = scope

    def _exists(self, key: EntityKey) -> bool:
        if key in self.writes:
            return self.writes[key] is not None
        return self._store.get(key) is not None

    def apply(self, mutation: Message) -> Staged:
        """Stage one split Mutation message on top of those before it.

        Raises INVALID_ARGUMENT for a mutation that can never be right, ALREADY_EXISTS for an insert
        of an entity that exists, NOT_FOUND for an update of an entity that does not.
        """
        fields = mutation.ListFields()
        if len(fields) != 1 or mutation.WhichOneof("operation") is None:
            refuse(
                mutation,
                "base_version",
                "update_time",
                "conflict_resolution_strategy",
                "property_mask",
                "property_transforms",
            )
            raise invalid_argument("a mutation must have an operation")
        ((field, content),) = fields
        if field.name == "delete":
            key, _ = resolve_complete(content, self._scope)
            self.writes[key] = None
            return Staged(key, b"", allocated=False)
        return self._write(field.name, content)

    def _write(self, operation: str, entity: Message) -> Staged:
        if not entity.HasField("key"):
            raise invalid_argument("an entity to be stored must have a key")
        received = entity.key
        key, resolved = resolve_wire(received, self._scope)
        allocated = key is None and operation != "update"
        if allocated:
            message = Key.FromString(received)
            key = self._ids.complete(message, self._scope)
            resolved = message.SerializeToString()
        elif key is None:
            key, _ = resolve_complete(received, self._scope)
        if operation == "insert" and self._exists(key):
            raise DatastoreError(grpc.StatusCode.ALREADY_EXISTS, f"{key} already exists")
        if operation == "update" and not self._exists(key):
            raise DatastoreError(grpc.StatusCode.NOT_FOUND, f"there is no {key} to update")
        if resolved != received:
            entity.key = resolved
        write = PendingWrite(resolved, entity.SerializeToString())
        if len(write.wire) > MAX_ENTITY_BYTES:
            raise invalid_argument(
                f"{key} is {len(write.wire)} bytes, more than the {MAX_ENTITY_BYTES} allowed"
            )
        self.writes[key] = write
        return Staged(key, resolved, allocated)


def _serialise(method: str, **fields: object) -> bytes:
    return bytes(METHODS[method][1](**fields).SerializeToString())


def _mutation_results(staged: Iterable[Staged], commit: Commit) -> Iterator[bytes]:
    """The results of mutations, as fields of the response."""

    @functools.cache
    def result(created: int | None, allocated: bytes) -> bytes:
        message = MutationResult(version=commit.version)
        if created is not None:
            message.create_time.CopyFrom(timestamp(created))
            message.update_time.CopyFrom(timestamp(commit.time))
        if allocated:
            message.key.MergeFromString(allocated)
        return wire.commit_results(message.SerializeToString())

    for key, key_wire, allocated in staged:
        record = commit.records.get(key)
        yield result(record and record.create_time, key_wire if allocated else b"")


class Writes:
    """The RPCs that change something. Each takes its request, answers with serialised bytes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = IdAllocator(store)

    def begin_transaction(self, message: Message, scope: Scope) -> bytes:
        """Open a transaction."""
        begun = self._store.begin(message.transaction_options, scope)
        return _serialise("BeginTransaction", transaction=begun.id)

    def rollback(self, message: Message, scope: Scope) -> bytes:
        """Close a transaction, whose writes never arrived."""
        self._store.end(message.transaction, scope)
        return _serialise("Rollback")

    def commit(self, message: Message, scope: Scope) -> bytes:
        """Apply all mutations, or none."""
        mode = enum_name(message, "mode")
        selector = message.WhichOneof("transaction_selector")
        if mode != ("NON_TRANSACTIONAL" if selector is None else "TRANSACTIONAL"):
            raise invalid_argument(
                "a transactional commit names a transaction, and no other commit does"
            )
        with self._store.lock:
            read_only = False
            if selector == "transaction":
                transaction = self._store.end(message.transaction, scope)
                if message.mutations:
                    # A transaction that only read can count as one before all others.
                    self._store.check(transaction)
                read_only = transaction.read_only
            elif selector is not None:
                read_only = message.single_use_transaction.WhichOneof("mode") == "read_only"
            if read_only and message.mutations:
                raise invalid_argument("a read-only transaction cannot write")
            staging = Staging(self._store, self._ids, scope)
            staged = [staging.apply(mutation) for mutation in message.mutations]
            if mode == "NON_TRANSACTIONAL" and len(staging.writes) < len(staged):
                raise invalid_argument(
                    "a non-transactional commit may have one mutation of each entity at most"
                )
            commit = self._store.commit(staging.writes)
        return b"".join(_mutation_results(staged, commit)) + _serialise(
            "Commit", index_updates=len(staged), commit_time=timestamp(commit.time)
        )

    def allocate_ids(self, message: Message, scope: Scope) -> bytes:
        """Complete some keys with ids that nobody else is given."""
        for key in message.keys:
            if not is_incomplete(key):
                raise invalid_argument("ids are allocated for incomplete keys only")
            self._ids.complete(key, scope)
        return _serialise("AllocateIds", keys=message.keys)

    def reserve_ids(self, message: Message, scope: Scope) -> bytes:
        """Never allocate the ids of some keys."""
        self._ids.reserve([resolve_key(key, scope) for key in message.keys])
        return _serialise("ReserveIds")
