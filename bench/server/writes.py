"""BeginTransaction, Commit, Rollback, AllocateIds and ReserveIds."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from . import wire
from .errors import invalid_argument
from .keys import Scope, is_incomplete, resolve_key
from .mutations import IdAllocator, Staged, Staging
from .schema import METHODS, Message, MutationResult, enum_name, timestamp
from .store import Commit, Store
from .transactions import Transactions


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

    def __init__(self, store: Store, transactions: Transactions, *, trusting: bool) -> None:
        self._store = store
        self._trusting = trusting
        self._transactions = transactions
        self._ids = IdAllocator(store)

    def begin_transaction(self, message: Message, scope: Scope) -> bytes:
        """Open a transaction."""
        begun = self._transactions.begin(message.transaction_options, scope)
        return _serialise("BeginTransaction", transaction=begun.id)

    def rollback(self, message: Message, scope: Scope) -> bytes:
        """Close a transaction, whose writes never arrived."""
        with self._transactions.end(message.transaction, scope):
            return _serialise("Rollback")

    def commit(self, message: Message, scope: Scope) -> bytes:
        """Apply all mutations, or none."""
        mode = enum_name(message, "mode")
        selector = message.WhichOneof("transaction_selector")
        if mode == "TRANSACTIONAL" and selector is None:
            raise invalid_argument("a transactional commit must name a transaction")
        if mode == "NON_TRANSACTIONAL" and selector is not None:
            raise invalid_argument("a non-transactional commit must not name a transaction")
        if mode not in ("TRANSACTIONAL", "NON_TRANSACTIONAL"):
            raise invalid_argument("a commit must be transactional or non-transactional")
        with self._store.lock, ExitStack() as ended:
            read_only = False
            if selector == "transaction":
                transaction = ended.enter_context(
                    self._transactions.end(message.transaction, scope)
                )
                if message.mutations:
                    # A transaction that only read can count as one before all others.
                    transaction.check()
                read_only = transaction.read_only
            elif selector is not None:
                read_only = message.single_use_transaction.WhichOneof("mode") == "read_only"
            if read_only and message.mutations:
                raise invalid_argument("a read-only transaction cannot write")
            staging = Staging(self._store, self._ids, scope, trusting=self._trusting)
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
