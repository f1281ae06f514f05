"""Writing and deleting any number of entities."""

from __future__ import annotations

import copy
import functools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity._dispatch import require_entity, require_several
from lazyentity.bulk.calls import CONCURRENCY, Call
from lazyentity.bulk.errors import BulkError
from lazyentity.bulk.requests import REQUEST_ERRORS, Requests
from lazyentity.codec import messages
from lazyentity.codec.describing import describe_type, safe_repr
from lazyentity.encoding import entity_bytes
from lazyentity.patches.datastore.seams import CLIENT

# In one commit.
MAX_MUTATIONS: Final = 500
MAX_REQUEST_BYTES: Final = 10 * 1024 * 1024
# Of a serialised entity.
MAX_ENTITY_BYTES: Final = 1024 * 1024 - 4
# The tags and lengths around an entity in a mutation in a request.
_BYTES_AROUND = 32
# The other fields of a request.
_BYTES_BESIDE = 4 * 1024
_ENCODING_ERRORS: Final = (ArithmeticError, RuntimeError, TypeError, ValueError, DecodeError)
"""The errors of an entity that cannot be encoded."""


def put_many(
    client: datastore.Client,
    entities: Iterable[Entity],
    *,
    concurrency: int = CONCURRENCY,
    retry: Retry | None = None,
    timeout: float | None = None,
) -> None:
    """Write any number of entities, in commits of at most 500 entities and 10 MiB.

    The call is not atomic: if it raises, some entities are written and others are not.

    Entities with the same key are written in their order. Partial keys are completed by
    ``AllocateIds`` before the commit, so that a commit can be retried without storing an entity
    twice. The key of such an entity is complete once its commit was sent, even if the commit fails.

    Args:
        client: patched, wrapped or stock. Its connection is used.
        entities: lazy or stock entities of the client's project and database. A collection is
            encoded as a whole before anything is sent. An iterator is read as the commits are sent,
            and no more than ``concurrency`` + 1 commits are held.
        concurrency: how many commits run at a time.
        retry: the policy of each request. By default, contention and unavailability are retried on
            the client's schedule for look-ups, for up to 60 seconds.
        timeout: the seconds of each attempt; by default, those of the client.

    Raises:
        BulkError: some entities could not be written. If entities of a collection are too large or
            cannot be encoded, nothing was sent, and ``failed`` names all of them. Such entities of
            an iterator are left out, and the others are written.
        RuntimeError: inside a transaction or a batch, also one that an iterator begins.
        TypeError: ``entities`` has anything but entities, or is itself an entity or text.
        ValueError: an entity has no key, or one of another project or database; or ``concurrency``
            is less than 1. Nothing of a collection was sent.
        Exception: any error of the iterator. The call ends at once; commits that were already sent
            may still be applied.
    """
    writing = _Writing(Requests(client, "put_many", concurrency, retry, timeout))
    require_several("put_many", entities)
    writing.write(entities, writing.upsert)


def delete_many(
    client: datastore.Client,
    keys: Iterable[Key | Entity],
    *,
    concurrency: int = CONCURRENCY,
    retry: Retry | None = None,
    timeout: float | None = None,
) -> None:
    """Delete any number of entities, in commits of at most 500 keys.

    It works like :func:`put_many`, but takes keys.

    Args:
        client: as for :func:`put_many`.
        keys: complete keys, or entities with such keys, of the client's project and database.
        concurrency: as for :func:`put_many`.
        retry: as for :func:`put_many`.
        timeout: as for :func:`put_many`.

    Raises:
        BulkError: some entities could not be deleted.
    """
    writing = _Writing(Requests(client, "delete_many", concurrency, retry, timeout))
    require_several("delete_many", keys, "keys and entities")
    writing.write(keys, writing.deletion)


class _Write(NamedTuple):
    """One mutation: an upsert if there is an entity, else a deletion."""

    # The serialised key; the id() of the entity if its key is partial.
    identity: bytes | int
    key: Key
    entity: Entity | None
    # The serialised entity, or the serialised key to delete.
    payload: bytes

    def key_now(self) -> Key:
        """Return the key of the entity, which was completed if it was partial."""
        return self.key if self.entity is None else self.entity.key

    def fields(self) -> dict[str, bytes]:
        """Return the message of the mutation, by the name of its operation."""
        if self.entity is None:
            return {"delete": self.payload}
        if isinstance(self.identity, bytes):
            return {"upsert": self.payload}
        message = messages.Entity.FromString(self.payload)
        message.key.CopyFrom(self.entity.key.to_protobuf()._pb)
        return {"upsert": message.SerializeToString()}


_Commit = list[_Write]


def _commits(writes: Iterable[_Write]) -> Iterator[_Commit]:
    """Group writes into commits, each with one write of a key at most."""
    commit: _Commit = []
    size = _BYTES_BESIDE
    seen: set[bytes | int] = set()
    for write in writes:
        cost = len(write.payload) + _BYTES_AROUND
        is_full = len(commit) == MAX_MUTATIONS or size + cost > MAX_REQUEST_BYTES
        if commit and (is_full or write.identity in seen):
            yield commit
            commit, size, seen = [], _BYTES_BESIDE, set()
        commit.append(write)
        size += cost
        seen.add(write.identity)
    if commit:
        yield commit


class _Writing:
    """Sends the commits of a call, and gathers how that went."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._refuse_in_batch()
        # Replaced by somebody else, the client's function is used as the client uses it.
        self._encode: Callable[[Entity], bytes] = (
            (lambda entity: entity_bytes(entity)[0])
            if CLIENT.guard.is_intact()
            else (lambda entity: helpers.entity_to_protobuf(entity)._pb.SerializeToString())
        )
        # With the identities of its writes and of their entities.
        self._sent: deque[tuple[_Commit, set[bytes | int], Call[Exception | None]]] = deque()
        self._failed: dict[bytes | int, tuple[_Write, Exception]] = {}
        self._done: list[_Write] = []
        self._count = 0

    def upsert(self, entity: Entity) -> _Write | None:
        """Return the mutation that writes an entity; None, and it has failed, if there is none."""
        require_entity(self._requests.function, entity)
        if entity.key is None:
            raise ValueError("an entity to be written must have a key")
        # An entity without an id is written once, however often the caller passes it.
        identity = self._requests.key_bytes(entity.key, is_complete=False) or id(entity)
        try:
            write = _Write(identity, entity.key, entity, self._encode(entity))
            if len(write.payload) > MAX_ENTITY_BYTES:
                raise ValueError(
                    f"the entity {safe_repr(entity.key)} has {len(write.payload)} bytes, more than "
                    f"the {MAX_ENTITY_BYTES} that Datastore stores; split it, or store the largest "
                    "properties elsewhere"
                )
        except _ENCODING_ERRORS as error:
            self._fail(_Write(identity, entity.key, entity, b""), error)
            return None
        return write

    def deletion(self, given: Key | Entity) -> _Write:
        """Return the mutation that deletes an entity."""
        key = given.key if isinstance(given, Entity) else given
        if key is None and isinstance(given, Entity):
            raise ValueError("an entity to be deleted must have a key")
        if not isinstance(key, Key):
            raise TypeError(f"delete_many() takes keys and entities, not {describe_type(given)}")
        serialised = self._requests.key_bytes(key)
        return _Write(serialised, key, None, serialised)

    def write(self, given: Iterable[Any], make: Callable[[Any], _Write | None]) -> None:
        """Send the writes that a function makes of entities or keys, whatever becomes of some.

        Raises:
            BulkError: some writes failed.
        """
        is_collection = isinstance(given, Collection)
        writes: Iterable[_Write | None] = map(make, given)
        if is_collection:
            # Copied: encoding can run code that changes it, and an entity would be left out.
            writes = list(map(make, list(given)))
            if self._failed:
                raise self._error(is_collection)
        try:
            for commit in _commits(self._sendable(writes)):
                self._send(commit)
                if is_collection:
                    self._done += commit
            while self._sent:
                self._receive()
        except BaseException:
            self._requests.stop()
            raise
        if self._failed:
            raise self._error(is_collection) from next(iter(self._failed.values()))[1]

    def _sendable(self, writes: Iterable[_Write | None]) -> Iterator[_Write]:
        for write in writes:
            # An iterator may begin a transaction around the entities that it gives.
            self._refuse_in_batch()
            if write is not None:
                yield write

    def _refuse_in_batch(self) -> None:
        self._requests.refuse_in_transaction()
        if self._requests.client.current_batch is not None:
            raise RuntimeError(
                f"{self._requests.function}() commits by itself and would not wait for the batch; "
                "call it outside of the batch, or use the methods of the client"
            )

    def _send(self, commit: _Commit) -> None:
        identities = {write.identity for write in commit}
        # An entity of an iterator can come again with the key that an earlier commit gave it.
        identities.update(id(write.entity) for write in commit if write.entity is not None)
        while len(self._sent) >= self._requests.concurrency or not all(
            identities.isdisjoint(others) for _, others, _ in self._sent
        ):
            self._receive()
        call = Call(functools.partial(self._commit, commit))
        self._sent.append((commit, identities, call))

    def _receive(self) -> None:
        commit, _, call = self._sent.popleft()
        error = call.result()
        if error is None:
            self._count += len(commit)
            return
        for write in commit:
            self._fail(write, error)

    def _fail(self, write: _Write, error: Exception) -> None:
        # The entity is held with it: its id() is not that of a later one.
        self._failed[write.identity] = write._replace(payload=b""), error

    def _error(self, is_collection: bool) -> BulkError:
        failed: dict[Key, Exception] = {}
        for write, error in self._failed.values():
            # A later write of the entity may have completed its key. Partial keys are never equal,
            # but a dict takes an object for itself: entities can share one.
            key = write.key_now()
            failed[copy.copy(key) if key.is_partial and key in failed else key] = error
        # A key can be in several commits. It failed if one of these did.
        done = {write.key_now(): write.entity for write in self._done}
        done = {key: entity for key, entity in done.items() if key not in failed}
        return BulkError(failed, done, len(done) if is_collection else self._count)

    def _commit(self, commit: _Commit) -> Exception | None:
        """Send a commit, in any thread; return its error."""
        try:
            entities = [one.entity for one in commit if isinstance(one.identity, int)]
            self._requests.complete(entity for entity in entities if entity is not None)
            self._requests.commit([write.fields() for write in commit])
        except REQUEST_ERRORS as error:
            return error
        return None
