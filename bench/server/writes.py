"""The RPCs that write, and the mutations of a commit.

Mutations are applied one after the other to a state that nobody else sees yet.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator

import grpc

from . import wire
from .errors import Refusal, invalid_argument
from .keys import EntityKey, Scope, is_incomplete, resolve_key, resolve_wire
from .schema import METHODS, Key, Message, MutationResult, refuse, timestamp
from .store import Commit, PendingWrite, Store

MAX_ENTITY_BYTES = 1024 * 1024 - 4
"""Datastore's limit for one entity. Any such entity fits into one response."""

_FIRST_ID = 1 << 50
"""Allocated ids start far above those that people choose, and stay exact in a double."""

_REFUSED = (
    "base_version",
    "update_time",
    "conflict_resolution_strategy",
    "property_mask",
    "property_transforms",
)
"""Fields of a mutation."""

Staged = tuple[EntityKey, bytes]
"""The key of a mutation, and its Key message, serialised, if its id was allocated."""


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

    for key, allocated in staged:
        record = commit.records.get(key)
        yield result(record and record.create_time, allocated)


class Writes:
    """The RPCs that change something. Each takes its request, answers with serialised bytes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = itertools.count(_FIRST_ID)

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
        writes: dict[EntityKey, PendingWrite | None] = {}
        with self._store.lock:
            if message.WhichOneof("transaction_selector") == "transaction":
                transaction = self._store.end(message.transaction, scope)
                if message.mutations:
                    # A transaction that only read can count as one before all others.
                    self._store.check(transaction)
            staged = [self._stage(mutation, scope, writes) for mutation in message.mutations]
            if not message.WhichOneof("transaction_selector") and len(writes) < len(staged):
                raise invalid_argument(
                    "a non-transactional commit may have one mutation of each entity at most"
                )
            commit = self._store.commit(writes)
        return b"".join(_mutation_results(staged, commit)) + _serialise(
            "Commit", index_updates=len(staged), commit_time=timestamp(commit.time)
        )

    def _stage(
        self, mutation: Message, scope: Scope, writes: dict[EntityKey, PendingWrite | None]
    ) -> Staged:
        """Add one split Mutation message to the writes before it.

        Raises INVALID_ARGUMENT for a mutation that can never be right, ALREADY_EXISTS for an insert
        of an entity that exists, NOT_FOUND for an update of an entity that does not.
        """
        refuse(mutation, *_REFUSED)
        operation = mutation.WhichOneof("operation")
        if operation is None:
            raise invalid_argument("a mutation must have an operation")
        if operation == "delete":
            key, _ = resolve_wire(mutation.delete, scope)
            writes[key] = None
            return key, b""
        entity = getattr(mutation, operation)
        received, allocated = entity.key, b""
        complete = Key.FromString(received)
        if operation != "update" and is_incomplete(complete):
            complete.path[-1].id = next(self._ids)
            received = complete.SerializeToString()
        key, resolved = resolve_wire(received, scope)
        if received != entity.key:
            allocated = resolved
        exists = writes[key] is not None if key in writes else self._store.get(key) is not None
        if operation == "insert" and exists:
            raise Refusal(grpc.StatusCode.ALREADY_EXISTS, f"{key} already exists")
        if operation == "update" and not exists:
            raise Refusal(grpc.StatusCode.NOT_FOUND, f"there is no {key} to update")
        if resolved != entity.key:
            entity.key = resolved
        write = PendingWrite(resolved, entity.SerializeToString())
        if len(write.wire) > MAX_ENTITY_BYTES:
            raise invalid_argument(
                f"{key} is {len(write.wire)} bytes, more than the {MAX_ENTITY_BYTES} allowed"
            )
        writes[key] = write
        return key, allocated

    def allocate_ids(self, message: Message, scope: Scope) -> bytes:
        """Complete some keys with ids that nobody else is given."""
        for key in message.keys:
            if not is_incomplete(key):
                raise invalid_argument("ids are allocated for incomplete keys only")
            key.path[-1].id = next(self._ids)
            resolve_key(key, scope)
        return _serialise("AllocateIds", keys=message.keys)
