"""Open transactions: the reads of each, and whether they still hold when it commits.

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import grpc

from .errors import DatastoreError, invalid_argument
from .keys import EntityKey, Partition, Scope
from .schema import Message, refuse
from .store import Record, Snapshot, Store

LIFETIME_SECONDS = 270.0
"""Datastore's own limit. Without one, a client that never ends its transactions would have the
store keep every version from then on."""

_NOT_OPEN = "the transaction is unknown, has ended or has expired"


class Transaction:
    """An open transaction: a :class:`~.store.Reader` that records its reads."""

    def __init__(self, snapshot: Snapshot, scope: Scope, *, read_only: bool) -> None:
        self.id = secrets.token_bytes(16)
        self.snapshot = snapshot
        self.scope = scope
        self.read_only = read_only
        self.deadline = time.monotonic() + LIFETIME_SECONDS
        self._keys: set[EntityKey] = set()
        self._queries: list[Callable[[Record], bool]] = []

    @property
    def version(self) -> int:
        """See :class:`~.store.Reader`."""
        return self.snapshot.version

    def read(self, keys: Sequence[EntityKey]) -> list[Record | None]:
        """See :class:`~.store.Reader`."""
        self._keys.update(keys)
        return self.snapshot.read(keys)

    def scan(self, partition: Partition, kind: str | None) -> list[Record]:
        """See :class:`~.store.Reader`; tell :meth:`depend_on` which of the records mattered."""
        return self.snapshot.scan(partition, kind)

    def depend_on(self, matches: Callable[[Record], bool]) -> None:
        """Note a query: from now on a change to a record that it matches is a conflict."""
        self._queries.append(matches)

    def check(self) -> None:
        """Raise ABORTED when something that this transaction has read was changed since."""
        for key, then, now in self.snapshot.changed():
            seen = key in self._keys or any(
                record is not None and matches(record)
                for matches in self._queries
                for record in (then, now)
            )
            if seen:
                raise DatastoreError(
                    grpc.StatusCode.ABORTED,
                    f"{key} was changed by another commit since this transaction began; try again",
                )


class Transactions:
    """The open transactions of a store, by id. Every method may be called from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._open: dict[bytes, Transaction] = {}

    def begin(self, options: Message, scope: Scope) -> Transaction:
        """Open a transaction as a TransactionOptions message asks."""
        refuse(options.read_only, "read_time")
        # A previous transaction is a hint for a server that locks: nothing to do here.
        read_only = options.WhichOneof("mode") == "read_only"
        transaction = Transaction(self._store.snapshot(), scope, read_only=read_only)
        with self._lock:
            expired = [old for old in self._open.values() if old.deadline < time.monotonic()]
            for old in expired:
                del self._open[old.id]
            self._open[transaction.id] = transaction
        for old in expired:
            self._store.release(old.snapshot)
        return transaction

    def get(self, identifier: bytes, scope: Scope) -> Transaction:
        """The open transaction of that id; INVALID_ARGUMENT when there is none in ``scope``."""
        with self._lock:
            transaction = self._open.get(identifier)
        if (
            transaction is None
            or transaction.scope != scope
            or transaction.deadline < time.monotonic()
        ):
            raise invalid_argument(_NOT_OPEN)
        return transaction

    @contextmanager
    def end(self, identifier: bytes, scope: Scope) -> Iterator[Transaction]:
        """Close a transaction; its snapshot can be read until the ``with`` block is left.

        Raises INVALID_ARGUMENT as :meth:`get` does.
        """
        transaction = self.get(identifier, scope)
        with self._lock:
            if self._open.pop(identifier, None) is None:
                raise invalid_argument(_NOT_OPEN)
        try:
            yield transaction
        finally:
            self._store.release(transaction.snapshot)
