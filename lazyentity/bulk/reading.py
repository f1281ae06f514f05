"""Reading any number of keys."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, overload

from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity._backend import convert_found
from lazyentity._types import describe_type, require_keys
from lazyentity.bulk.coalescing import uncoalesced
from lazyentity.bulk.limits import CONCURRENCY, MAX_KEYS
from lazyentity.bulk.rpcs import Rpcs, complete_key_encoder, require_own, serialised_key
from lazyentity.bulk.streams import Answer, Stream, bulk_error
from lazyentity.bulk.transactions import refuse_in_transaction
from lazyentity.bulk.windows import Window
from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.patches.datastore.wrapping import conversion_of, reader_of, reading


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

    Equal keys are looked up once, and give one entity object. The entities are those that
    ``client.get()`` returns: lazy if the client is patched or wrapped.

    Args:
        client: patched, wrapped or stock; its own connection is used.
        keys: complete keys of the client's project and database. For a collection, all are returned
            together. For an iterator, entities are returned as they are asked for: up to
            ``concurrency`` look-ups are ahead, and only their keys and entities are held. Equal
            keys more than 1,000 keys apart are looked up again.
        concurrency: how many look-ups run at a time.
        eventual: whether to read with eventual consistency.
        retry: the policy of each look-up. By default, contention and unavailability are retried
            with the times by which the client retries look-ups, up to 60 seconds.
        timeout: of an attempt, in seconds; the client's own by default.

    Returns:
        The entities in the order of the keys, None where there is none: a list for a collection,
        else an iterator. The iterator can be continued after an error.

    Raises:
        BulkError: some keys could not be read. An iterator raises it in place of the entities of
            a look-up.
        RuntimeError: inside a transaction. An iterator raises it when it would read keys there, and
            goes on after the transaction. An iterator also raises it in a child process, if it was
            begun before the fork.
        TypeError: ``keys`` has something that is not a key, or is a key, an entity or text itself.
        ValueError: a key is partial, or of another project or database; or ``concurrency`` is less
            than 1.
    """
    refuse_in_transaction(client, "get_many")
    require_keys("get_many", keys)
    lookups = Lookups(uncoalesced(client), eventual, retry, timeout)
    if isinstance(keys, Collection):
        return _all(lookups, keys, concurrency)
    return Stream(lookups, iter(keys), concurrency, MAX_KEYS)


class Lookups:
    """Makes the look-ups of a call."""

    def __init__(
        self,
        client: datastore.Client,
        eventual: bool,
        retry: Retry | None,
        timeout: float | None,
    ) -> None:
        client = reading(client)
        self._client = client
        self._project = client.project
        self._database = client.database or ""
        self._complete_key_bytes = complete_key_encoder()
        self._rpcs = Rpcs(client, retry, timeout)
        self._eventual = eventual
        self._convert: Callable[[Any], Entity] = conversion_of(client)
        self._reader = reader_of(client)

    def serialised(self, keys: Iterable[Key]) -> list[bytes]:
        """Return the serialised form of each key.

        Raises:
            TypeError, ValueError: as :func:`get_many`.
        """
        project, database, other = self._project, self._database, self._serialised
        direct = self._complete_key_bytes
        return [direct(key, project, database) or other(key) for key in keys]

    def serialised_key(self, key: Key) -> bytes:
        """As :meth:`serialised`, of a key."""
        direct = self._complete_key_bytes
        return direct(key, self._project, self._database) or self._serialised(key)

    def _serialised(self, key: Key) -> bytes:
        if not isinstance(key, Key):
            raise TypeError(f"get_many() takes keys, not {describe_type(key)}")
        require_own(self._client, key, is_complete=True)
        return serialised_key(key)

    def refuse_in_transaction(self) -> None:
        """Check again that the thread is not inside a transaction.

        Raises:
            RuntimeError: if it is.
        """
        refuse_in_transaction(self._client, "get_many")

    def answer(
        self, asked: Collection[bytes], entities: dict[bytes, Entity | None]
    ) -> dict[bytes, Exception]:
        """Look up at most 1,000 keys, and return the errors of those that failed.

        Args:
            asked: the serialised keys.
            entities: gets the results of the other keys. Several threads may fill it.
        """
        errors: dict[bytes, Exception] = {}
        take = None
        if self._reader is not None:
            take = functools.partial(convert_found, self._reader, entities)
        try:
            # Each message is converted at once: the garbage collector has fewer messages to visit.
            for serialised, message in self._rpcs.look_up(
                asked, eventual=self._eventual, take=take
            ):
                try:
                    entity = None if message is None else self._convert(message._pb)
                except Exception as error:  # noqa: BLE001  # reported with the key it concerns
                    raise_if_of_handler(error)
                    errors[serialised] = error
                else:
                    entities[serialised] = entity
        except Exception as error:  # noqa: BLE001  # as above
            raise_if_of_handler(error)
            for serialised in asked:
                if serialised not in entities:
                    errors.setdefault(serialised, error)
        return errors


def _all(lookups: Lookups, keys: Collection[Key], concurrency: int) -> list[Entity | None]:
    # Another thread can change the collection before an error is to name the keys.
    keys = list(keys)
    order = lookups.serialised(keys)
    unique = iter(dict.fromkeys(order))
    chunks = list(iter(lambda: list(itertools.islice(unique, MAX_KEYS)), []))
    # A thread for a single look-up would only cost time.
    window = Window[dict[bytes, Exception]](
        concurrency if len(chunks) != 1 else min(concurrency, 1)
    )
    # One dict for all look-ups: joining their results would take longer.
    entities: dict[bytes, Entity | None] = {}
    errors: dict[bytes, Exception] = {}
    try:
        window.submit(*(functools.partial(lookups.answer, chunk, entities) for chunk in chunks))
        while window:
            errors.update(window.take())
    except BaseException:
        window.cancel_surely()
        raise
    if errors:
        asked = dict(zip(order, keys, strict=True))
        # Look-ups are answered in any order.
        done = {serialised: entities[serialised] for serialised in asked if serialised in entities}
        raise bulk_error(asked, Answer(done, errors), len(done)) from next(iter(errors.values()))
    return [entities[serialised] for serialised in order]
