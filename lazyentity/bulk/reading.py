"""Reading any number of keys."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, overload

from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity._backend import convert_found
from lazyentity._dispatch import require_keys
from lazyentity.bulk.calls import CONCURRENCY, Call
from lazyentity.bulk.errors import BulkError
from lazyentity.bulk.requests import MAX_KEYS, Requests, serialised_key
from lazyentity.patches.api.responses import LookupResponse
from lazyentity.patches.datastore.wrapping import conversion_of, reader_of

_CONVERSION_ERRORS: Final = (OverflowError, TypeError, ValueError, DecodeError)
"""The errors of a message that cannot be converted to an entity."""


@overload
def get_many(  # type: ignore[overload-overlap]  # a collection has a list, other iterables do not
    client: datastore.Client,
    keys: Collection[Key],
    *,
    concurrency: int = ...,
    eventual: bool = ...,
    retry: Retry | None = ...,
    timeout: float | None = ...,
) -> list[Entity | None]: ...
@overload
def get_many(
    client: datastore.Client,
    keys: Iterable[Key],
    *,
    concurrency: int = ...,
    eventual: bool = ...,
    retry: Retry | None = ...,
    timeout: float | None = ...,
) -> Iterator[Entity | None]: ...
def get_many(
    client: datastore.Client,
    keys: Iterable[Key],
    *,
    concurrency: int = CONCURRENCY,
    eventual: bool = False,
    retry: Retry | None = None,
    timeout: float | None = None,
) -> list[Entity | None] | Iterator[Entity | None]:
    """Read any number of keys, in look-ups of 1,000 keys in a few threads.

    The call is not atomic: each look-up sees the entities at a different moment.

    Equal keys are looked up once, and return the same entity object. If the client is patched or
    wrapped, the entities are lazy, as from ``client.get()``.

    Args:
        client: patched, wrapped or stock. Its connection is used.
        keys: complete keys of the client's project and database. For a collection, all entities are
            returned together. For an iterator, they are returned as you ask for them: up to
            ``concurrency`` look-ups run ahead, and only their keys and entities are held. Equal
            keys that are more than 1,000 keys apart are looked up again.
        concurrency: how many look-ups run at a time.
        eventual: whether to read with eventual consistency.
        retry: the policy of each look-up, as for :func:`~lazyentity.bulk.put_many`.
        timeout: the seconds of each attempt; by default, those of the client.

    Returns:
        The entities in the order of the keys, None for a key without one: a list for a collection,
        else an iterator. You can continue with the iterator after an error.

    Raises:
        BulkError: some keys could not be read. An iterator raises it in place of the entities of
            a look-up.
        RuntimeError: inside a transaction. An iterator raises it if it would have to look up keys
            there, and can be continued after the transaction. An iterator that was begun before a
            fork also raises it in the child process.
        TypeError: ``keys`` has anything but keys, or is itself a key, an entity or text.
        ValueError: a key is partial, or of another project or database; or ``concurrency`` is less
            than 1.
    """
    requests = Requests(client, "get_many", concurrency, retry, timeout)
    require_keys("get_many", keys)
    lookups = _Lookups(requests, keys, eventual=eventual)
    return lookups.all() if isinstance(keys, Collection) else lookups


_Chunk = tuple[list[bytes], dict[bytes, Key]]
"""Keys that are looked up together, serialised: in the order of the caller, and each once."""
_Entities = dict[bytes, Entity | None]
_Errors = dict[bytes, Exception]
_Responses = tuple[list[Any], Exception]


class _Lookups(Iterator[Entity | None]):
    """The look-ups of a call, some of them ahead of the caller; an iterator of the entities.

    A thread sends a look-up and receives its responses. The caller's thread converts them: the
    profile finds the line of the application there, and threads would not convert any faster.

    An exception of the caller's iterator, or of a signal handler, comes out at once. Keys that were
    taken and look-ups that were sent are kept for the next step.
    """

    def __init__(self, requests: Requests, keys: Iterable[Key], *, eventual: bool) -> None:
        self._requests = requests
        self._keys = iter(keys)
        self._eventual = eventual
        self._convert: Callable[[Any], Entity] = conversion_of(requests.client)
        self._reader = reader_of(requests.client)
        self._taken: list[Key] = []
        self._unique: Iterator[tuple[bytes, Key]] | None = None
        self._has_ended = False
        self._sent: deque[tuple[_Chunk, Call[_Responses]]] = deque()
        self._ready: deque[Entity | None] = deque()
        self._count = 0

    def all(self) -> list[Entity | None]:
        """Return the entities of all keys; each key is looked up once."""
        keys = list(self._keys)
        order = list(map(self._requests.key_bytes, keys))
        asked = dict(zip(order, keys, strict=True))
        self._unique = iter(asked.items())
        entities: _Entities = {}
        errors: _Errors = {}
        try:
            while self._fill():
                _, found, failed = self._received()
                entities.update(found)
                errors.update(failed)
                del self._sent[0]
        except BaseException:
            self._requests.stop()
            raise
        if errors:
            raise _bulk_error(asked, entities, errors, len(entities))
        return [entities[serialised] for serialised in order]

    def __next__(self) -> Entity | None:
        while not self._ready:
            if not self._fill():
                raise StopIteration
            (order, asked), entities, errors = self._received()
            ready = deque([] if errors else [entities[serialised] for serialised in order])
            count = self._count + len(entities)
            # Without a call in between: a signal handler runs before these steps or after them.
            self._count = count
            self._ready = ready
            del self._sent[0]
            if errors:
                raise _bulk_error(asked, entities, errors, count)
        entity = self._ready[0]
        # Not popleft(): a signal handler that runs when it returns would lose the entity.
        del self._ready[0]
        return entity

    def __del__(self) -> None:
        self._requests.stop()

    def _take(self) -> _Chunk:
        if self._unique is not None:
            return [], dict(itertools.islice(self._unique, MAX_KEYS))
        if not self._has_ended:
            # In one call: a signal handler between two would lose a key.
            self._taken.extend(itertools.islice(self._keys, MAX_KEYS - len(self._taken)))
            self._has_ended = len(self._taken) < MAX_KEYS
        order = list(map(self._requests.key_bytes, self._taken))
        return order, dict(zip(order, self._taken, strict=True))

    def _fill(self) -> bool:
        """Send as many look-ups as may run at a time; say whether there is any."""
        while len(self._sent) < self._requests.concurrency:
            chunk = self._take()
            if not chunk[1]:
                break
            # The iterator may have begun a transaction around the keys.
            self._requests.refuse_in_transaction()
            send = functools.partial(self._requests.look_up, chunk[1], eventual=self._eventual)
            sent = chunk, Call(send)
            # Without a call in between, as above.
            self._taken = []
            self._sent += (sent,)
        return bool(self._sent)

    def _received(self) -> tuple[_Chunk, _Entities, _Errors]:
        """Wait for the first look-up, and convert its responses."""
        chunk, call = self._sent[0]
        responses, error = call.result()
        entities: _Entities = {}
        errors: _Errors = {}
        pending = dict.fromkeys(chunk[1])
        for response in responses:
            found = response.found
            if self._reader is not None and type(response) is LookupResponse:
                found = convert_found(self._reader, entities, found, pending)
            for result in found:
                serialised = _key_of(result.entity, pending)
                try:
                    entities[serialised] = self._convert(result.entity._pb)
                except _CONVERSION_ERRORS as failure:
                    errors[serialised] = failure
            for result in response.missing:
                entities[_key_of(result.entity, pending)] = None
        # The error is of the keys that no response answers.
        errors.update(dict.fromkeys(pending, error))
        return chunk, entities, errors


def _key_of(entity: Any, pending: dict[bytes, None]) -> bytes:
    """Return the serialised key of an answer, and take it out of the keys that are pending."""
    serialised: bytes = entity.key._pb.SerializeToString()
    if serialised not in pending:
        # A server may encode keys in another way than the request has them.
        serialised = serialised_key(helpers.key_from_protobuf(entity.key._pb))
    pending.pop(serialised, None)
    return serialised


def _bulk_error(
    asked: dict[bytes, Key], entities: _Entities, errors: _Errors, count: int
) -> BulkError:
    failed = {key: errors[serialised] for serialised, key in asked.items() if serialised in errors}
    done = {
        key: entities[serialised] for serialised, key in asked.items() if serialised in entities
    }
    error = BulkError(failed, done, count)
    error.__cause__ = next(iter(failed.values()))
    return error
