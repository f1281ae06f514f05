"""Writing and deleting any number of entities."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity._types import describe_type, require_entity, require_several
from lazyentity.bulk.errors import BulkError
from lazyentity.bulk.limits import (
    CONCURRENCY,
    MAX_ENTITY_BYTES,
    MAX_MUTATIONS,
    MAX_REQUEST_BYTES,
)
from lazyentity.bulk.rpcs import Rpcs, is_partial, key_message, serialised_key
from lazyentity.bulk.transactions import refuse_in_batch
from lazyentity.bulk.windows import Window
from lazyentity.operations import raw
from lazyentity.patches.datastore.seams import ENCODING

# The tags and lengths around an entity in a mutation in a request, and the id of a partial key.
_BYTES_AROUND = 32
# The other fields of a request.
_BYTES_BESIDE = 4 * 1024


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

    Each entity is encoded once. Entities of one key are written in their order. Partial keys are
    completed by ``AllocateIds`` before the commit, so that a commit can be retried without storing
    an entity twice. The key of such an entity is complete once its commit was sent, even if the
    commit fails.

    Args:
        client: patched, wrapped or stock; its own connection is used.
        entities: lazy or stock entities of the client's project and database. A collection is
            encoded as a whole before anything is sent. An iterator is read as the commits are
            sent, and no more than ``concurrency`` + 1 commits are held.
        concurrency: how many commits run at a time.
        retry: the policy of each request. By default, contention and unavailability are retried
            with the times by which the client retries look-ups, up to 60 seconds.
        timeout: of one attempt, in seconds; the client's own by default.

    Raises:
        BulkError: some entities could not be written. If entities of a collection are larger than
            1,048,572 bytes or cannot be encoded, nothing was sent, and ``failed`` names all of
            them. In an iterator such entities are left out and the others are written.
        RuntimeError: inside a transaction or a batch.
        TypeError: ``entities`` has something that is not an entity, or is an entity itself or text.
        ValueError: an entity has no key, or one of another project or database; or ``concurrency``
            is less than 1. Nothing of a collection was sent.
    """
    refuse_in_batch(client, "put_many")
    require_several("put_many", entities)
    encode = _encoder()

    def write(entity: Entity) -> _Write:
        require_entity("put_many", entity)
        if entity.key is None:
            raise ValueError("an entity to be written must have a key")
        _require_own(client, entity.key)
        # An entity without an id is written once, however often the caller passes it.
        key_is_partial = is_partial(entity.key)
        identity = id(entity) if key_is_partial else serialised_key(entity.key)
        try:
            payload = encode(entity)
        except Exception as error:  # noqa: BLE001  # reported with the entity that it concerns
            return _Write(entity.key, identity, entity, b"", error)
        return _Write(entity.key, identity, entity, payload, _too_large(entity.key, payload))

    sending = _Sending(client, Rpcs(client, retry, timeout), Window(concurrency))
    if isinstance(entities, Collection):
        writes = [write(entity) for entity in entities]
        unsendable = {one.key: one.error for one in writes if one.error is not None}
        if unsendable:
            raise BulkError(unsendable, {}, 0)
        sending.send(writes, _put_chunks, keep_done=True)
    else:
        sending.send(map(write, entities), _put_chunks, keep_done=False)


def delete_many(
    client: datastore.Client,
    keys: Iterable[Key | Entity],
    *,
    concurrency: int = CONCURRENCY,
    retry: Retry | None = None,
    timeout: float | None = None,
) -> None:
    """Delete any number of entities, in commits of at most 500 keys.

    The call is not atomic: if it raises, some entities are deleted and others are not.

    Args:
        client: patched, wrapped or stock; its own connection is used.
        keys: complete keys, or entities with such keys, of the client's project and database. An
            iterator is read as the commits are sent.
        concurrency: how many commits run at a time.
        retry: as for :func:`put_many`.
        timeout: as for :func:`put_many`.

    Raises:
        BulkError: some entities could not be deleted.
        RuntimeError: inside a transaction or a batch.
        TypeError: ``keys`` has something that is neither a key nor an entity, or is an entity
            itself or text.
        ValueError: a key is partial, or of another project or database; or ``concurrency`` is less
            than 1. Nothing of a collection was sent.
    """
    refuse_in_batch(client, "delete_many")
    require_several("delete_many", keys, "keys and entities")

    def delete(given: Key | Entity) -> _Write:
        key = given.key if isinstance(given, Entity) else given
        if not isinstance(key, Key):
            raise TypeError(f"delete_many() takes keys and entities, not {describe_type(given)}")
        _require_own(client, key)
        if is_partial(key):
            raise ValueError(f"{key!r} has neither an id nor a name, so no entity can have it")
        serialised = serialised_key(key)
        return _Write(key, serialised, None, serialised, None)

    sending = _Sending(client, Rpcs(client, retry, timeout), Window(concurrency))
    if isinstance(keys, Collection):
        unique = {one.identity: one for one in map(delete, keys)}
        sending.send(unique.values(), _delete_chunks, keep_done=True)
    else:
        sending.send(map(delete, keys), _delete_chunks, keep_done=False)


class _Write(NamedTuple):
    """One mutation: an upsert if there is an entity, else a deletion.

    Attributes:
        key: the key, which may be partial.
        identity: the serialised key; the ``id()`` of the entity if its key is partial.
        entity: the entity to write.
        payload: the serialised entity, or the serialised key to delete.
        error: the reason why the mutation cannot be sent.
    """

    key: Key
    identity: bytes | int
    entity: Entity | None
    payload: bytes
    error: Exception | None


_Chunk = list[_Write]


def _encoder() -> Callable[[Entity], bytes]:
    """Return the function that serialises an entity as the client would send it."""
    if ENCODING.is_own():
        return raw
    # Somebody else replaced the client's function: the replacement is called, as the client does.
    return lambda entity: helpers.entity_to_protobuf(entity)._pb.SerializeToString()


def _require_own(client: datastore.Client, key: Key) -> None:
    for name in ("project", "database"):
        theirs, ours = getattr(key, name), getattr(client, name)
        if (theirs or None) != (ours or None):
            raise ValueError(f"{key!r} is of the {name} {theirs!r}, and the client of {ours!r}")


def _too_large(key: Key, payload: bytes) -> ValueError | None:
    if len(payload) <= MAX_ENTITY_BYTES:
        return None
    return ValueError(
        f"the entity {key!r} has {len(payload)} bytes, more than the {MAX_ENTITY_BYTES} that "
        "Datastore stores; split it, or store the largest properties elsewhere"
    )


def _put_chunks(writes: Iterable[_Write]) -> Iterator[_Chunk]:
    """Group writes into commits, each with one entity of a key at most."""
    chunk: _Chunk = []
    size = _BYTES_BESIDE
    seen: set[bytes | int] = set()
    for write in writes:
        cost = len(write.payload) + _BYTES_AROUND
        is_full = len(chunk) == MAX_MUTATIONS or size + cost > MAX_REQUEST_BYTES
        if chunk and (is_full or write.identity in seen):
            yield chunk
            chunk, size, seen = [], _BYTES_BESIDE, set()
        chunk.append(write)
        size += cost
        seen.add(write.identity)
    if chunk:
        yield chunk


def _delete_chunks(deletes: Iterable[_Write]) -> Iterator[_Chunk]:
    """Group deletions into commits, each with a key once. A key has at most a few kilobytes."""
    chunk: dict[bytes | int, _Write] = {}
    for delete in deletes:
        chunk[delete.identity] = delete
        if len(chunk) == MAX_MUTATIONS:
            yield list(chunk.values())
            chunk = {}
    if chunk:
        yield list(chunk.values())


class _Sent(NamedTuple):
    """A chunk after its commit, and the errors of its writes by position."""

    chunk: _Chunk
    errors: dict[int, Exception]


class _Sending:
    """Sends the chunks of one call, and gathers their outcomes."""

    def __init__(self, client: datastore.Client, rpcs: Rpcs, window: Window[_Sent]) -> None:
        self._rpcs = rpcs
        self._window = window
        self._identities: deque[set[bytes | int]] = deque()
        self._failed: dict[Key, Exception] = {}
        self._done: dict[Key, Entity | None] = {}
        self._count = 0
        self._keep_done = True
        self._end: Exception | None = None

    def send(
        self,
        writes: Iterable[_Write],
        into_chunks: Callable[[Iterable[_Write]], Iterable[_Chunk]],
        *,
        keep_done: bool,
    ) -> None:
        """Send all writes, even if some fail.

        Args:
            writes: an error that iterating them raises is raised after those before it were sent.
            into_chunks: groups writes into commits.
            keep_done: whether an error has the entities that were written.

        Raises:
            BulkError: some writes failed.
        """
        self._keep_done = keep_done
        for chunk in into_chunks(self._until_error(writes)):
            self._submit(chunk)
        while self._window:
            self._take()
        if self._failed:
            # A key can be in several commits. The key failed if one of these failed.
            for key in self._failed.keys() & self._done.keys():
                del self._done[key]
            count = len(self._done) if keep_done else self._count
            raise BulkError(self._failed, self._done, count) from (
                self._end or next(iter(self._failed.values()))
            )
        if self._end is not None:
            raise self._end

    def _until_error(self, writes: Iterable[_Write]) -> Iterator[_Write]:
        """Give writes up to an error, which is kept."""
        try:
            yield from writes
        except Exception as error:  # noqa: BLE001  # raised once the writes before it are done
            self._end = error

    def _submit(self, chunk: _Chunk) -> None:
        identities = {write.identity for write in chunk}
        # An entity of an iterator can come again with the key that an earlier commit gave it.
        identities.update(id(write.entity) for write in chunk if write.entity is not None)
        while self._window.is_full or not all(map(identities.isdisjoint, self._identities)):
            self._take()
        self._window.submit(functools.partial(self._commit, chunk))
        self._identities.append(identities)

    def _take(self) -> None:
        chunk, errors = self._window.take()
        self._identities.popleft()
        for position, write in enumerate(chunk):
            # The entity's own key: a partial key was completed there.
            key = write.key if write.entity is None else write.entity.key
            error = errors.get(position)
            if error is not None:
                self._failed[key] = error
                continue
            self._count += 1
            if self._keep_done:
                self._done[key] = write.entity

    def _commit(self, chunk: _Chunk) -> _Sent:
        errors = {at: write.error for at, write in enumerate(chunk) if write.error is not None}
        sendable = [at for at in range(len(chunk)) if at not in errors]
        try:
            self._complete([chunk[at] for at in sendable])
            if sendable:
                self._rpcs.commit(functools.partial(_fill, chunk, sendable, errors))
        except Exception as error:  # noqa: BLE001  # reported with the keys that it concerns
            errors |= {at: error for at in sendable if at not in errors}
        return _Sent(chunk, errors)

    def _complete(self, writes: Iterable[_Write]) -> None:
        entities = (write.entity for write in writes if write.entity is not None)
        partial = [entity for entity in entities if is_partial(entity.key)]
        if partial:
            keys = self._rpcs.complete(entity.key for entity in partial)
            for entity, key in zip(partial, keys, strict=True):
                entity.key = key


def _fill(
    chunk: _Chunk, sendable: Iterable[int], errors: dict[int, Exception], mutations: Any
) -> None:
    """Add the mutations of a chunk to a request; the errors get those that protobuf refuses."""
    for position in sendable:
        write = chunk[position]
        mutation = mutations.add()
        try:
            if write.entity is None:
                mutation.delete.MergeFromString(write.payload)
            else:
                mutation.upsert.MergeFromString(write.payload)
                if isinstance(write.identity, int):
                    mutation.upsert.key.CopyFrom(key_message(write.entity.key))
        except Exception as error:  # noqa: BLE001  # as in _commit
            errors[position] = error
            del mutations[-1]
