"""Sending the commits of a bulk call, and gathering how that went."""

from __future__ import annotations

import copy
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.bulk.errors import BulkError
from lazyentity.bulk.rpcs import Rpcs, is_partial, key_message
from lazyentity.bulk.transactions import refuse_in_batch
from lazyentity.bulk.windows import Window
from lazyentity.codec import messages
from lazyentity.codec.interruptions import raise_if_of_handler


class Write(NamedTuple):
    """One mutation: an upsert if there is an entity, else a deletion.

    Attributes:
        key: the key, which may be partial.
        identity: the serialised key; the ``id()`` of the entity if its key is partial.
        entity: the entity to write.
        payload: the serialised entity, or the serialised key to delete.
        is_known: whether protobuf is known to take the payload.
        error: the reason why it cannot be sent.
    """

    key: Key
    identity: bytes | int
    entity: Entity | None
    payload: bytes
    is_known: bool
    error: Exception | None


Chunk = list[Write]
"""The writes of a commit."""


class Sent(NamedTuple):
    """A chunk after its commit, and the errors of its writes by position."""

    chunk: Chunk
    errors: dict[int, Exception]


class _Failure(NamedTuple):
    """A write that failed: its key, that of the entity if there is one."""

    key: Key
    entity: Entity | None
    error: Exception


def by_key(failures: Iterable[tuple[Key, Exception]]) -> dict[Key, Exception]:
    """Return errors by key, one for each entity.

    Partial keys are never equal, but a dict takes an object for itself. So the second entity that
    has the same partial key is there with a copy of it.
    """
    errors: dict[Key, Exception] = {}
    for key, error in failures:
        errors[copy.copy(key) if is_partial(key) and key in errors else key] = error
    return errors


class Sending:
    """Sends the chunks of a call, and gathers how that went.

    Args:
        client: as of the call.
        function: the name of the call.
        retry: as of the call.
        timeout: as of the call.
        concurrency: as of the call.

    Raises:
        ValueError: if ``concurrency`` is less than 1.
    """

    def __init__(
        self,
        client: datastore.Client,
        function: str,
        retry: Retry | None,
        timeout: float | None,
        concurrency: int,
    ) -> None:
        self._client = client
        self._function = function
        self._window = Window[Sent](concurrency)
        self._rpcs = Rpcs(client, retry, timeout)
        self._identities: deque[set[bytes | int]] = deque()
        self._failed: dict[object, _Failure] = {}
        self._sent: list[Sent] = []
        self._done: dict[Key, Entity | None] = {}
        self._count = 0
        self._keep_done = True
        self._end: Exception | None = None

    def send(
        self,
        writes: Iterable[Write],
        into_chunks: Callable[[Iterable[Write]], Iterable[Chunk]],
        *,
        keep_done: bool,
    ) -> None:
        """Send all writes, whatever becomes of some.

        Args:
            writes: an error that iterating them raises is raised after those before it were sent.
            into_chunks: groups writes into commits.
            keep_done: whether an error has the entities that were written.

        Raises:
            BulkError: some writes failed.
        """
        self._keep_done = keep_done
        chunks = into_chunks(self._until_error(writes))
        try:
            if keep_done:
                chunks = list(chunks)
                if len(chunks) == 1:
                    # A thread for a single commit would only cost time.
                    self._window = Window[Sent](1)
            for chunk in chunks:
                self._submit(chunk)
            while self._window:
                self._take()
        except BaseException:
            self._window.cancel_surely()
            raise
        if any(sent.errors for sent in self._sent):
            for sent in self._sent:
                self._count_writes(sent)
        if self._failed:
            failed = by_key(
                (one.key if one.entity is None else one.entity.key, one.error)
                for one in self._failed.values()
            )
            # A key can be in several commits. It failed if one of these did.
            for key in failed.keys() & self._done.keys():
                del self._done[key]
            count = len(self._done) if keep_done else self._count
            raise BulkError(failed, self._done, count) from (
                self._end or next(iter(failed.values()))
            )
        if self._end is not None:
            raise self._end

    def _until_error(self, writes: Iterable[Write]) -> Iterator[Write]:
        """Give writes up to an error, which is kept."""
        try:
            for write in writes:
                # An iterator may begin a transaction around the entities that it gives.
                refuse_in_batch(self._client, self._function)
                yield write
        except Exception as error:  # noqa: BLE001  # raised once the writes before it are done
            raise_if_of_handler(error)
            self._end = error

    def _submit(self, chunk: Chunk) -> None:
        identities = {write.identity for write in chunk}
        # An entity of an iterator can come again with the key that an earlier commit gave it.
        identities.update(id(write.entity) for write in chunk if write.entity is not None)
        while self._window.is_full or not all(map(identities.isdisjoint, self._identities)):
            self._take()
        self._window.submit(functools.partial(self._commit, chunk))
        self._identities.append(identities)

    def _take(self) -> None:
        sent = self._window.take()
        self._identities.popleft()
        if self._keep_done:
            # Their keys are only asked for if some fail.
            self._sent.append(sent)
        else:
            self._count_writes(sent)

    def _count_writes(self, sent: Sent) -> None:
        chunk, errors = sent
        for position, write in enumerate(chunk):
            # The key of the entity, which was completed if it was partial.
            key = write.key if write.entity is None else write.entity.key
            error = errors.get(position)
            if error is not None:
                self._fail(write, key, error)
                continue
            self._count += 1
            if self._keep_done:
                self._done[key] = write.entity

    def _fail(self, write: Write, key: Key, error: Exception) -> None:
        if self._keep_done:
            # A later write of the entity may complete its key.
            self._failed[write.identity] = _Failure(key, write.entity, error)
            return
        # The entities of an iterator are not held. Another one may have the id() of this one later.
        identity = object() if isinstance(write.identity, int) else write.identity
        self._failed[identity] = _Failure(key, None, error)

    def _commit(self, chunk: Chunk) -> Sent:
        errors = {at: write.error for at, write in enumerate(chunk) if write.error is not None}
        sendable = [at for at in range(len(chunk)) if at not in errors]
        try:
            self._complete([chunk[at] for at in sendable])
            mutations = []
            for at in sendable:
                try:
                    mutations.append(_fields(chunk[at]))
                except Exception as error:  # noqa: BLE001  # as below
                    raise_if_of_handler(error)
                    errors[at] = error
            if mutations:
                self._rpcs.commit(mutations)
        except Exception as error:  # noqa: BLE001  # reported with the keys that it concerns
            raise_if_of_handler(error)
            errors |= {at: error for at in sendable if at not in errors}
        return Sent(chunk, errors)

    def _complete(self, writes: Iterable[Write]) -> None:
        entities = [one.entity for one in writes if isinstance(one.identity, int)]
        partial = [one for one in entities if one is not None and is_partial(one.key)]
        if partial:
            keys = self._rpcs.complete(entity.key for entity in partial)
            for entity, key in zip(partial, keys, strict=True):
                entity.key = key


def _fields(write: Write) -> dict[str, bytes]:
    """Return the message of a mutation, by the name of its operation.

    Raises:
        google.protobuf.message.DecodeError: protobuf refuses it.
    """
    if write.entity is None:
        return {"delete": write.payload}
    key_was_partial = isinstance(write.identity, int)
    if write.is_known and not key_was_partial:
        return {"upsert": write.payload}
    message = messages.Entity.FromString(write.payload)
    if key_was_partial:
        message.key.CopyFrom(key_message(write.entity.key))
    return {"upsert": message.SerializeToString()}
