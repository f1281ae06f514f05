"""Writing and deleting any number of entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

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
from lazyentity.bulk.rpcs import complete_key_encoder, is_partial, require_own, serialised_key
from lazyentity.bulk.sending import Chunk, Sending, Write, by_key
from lazyentity.bulk.transactions import refuse_in_batch
from lazyentity.codec.describing import safe_repr
from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.encoding import entity_bytes, knows_own_classes
from lazyentity.patches.datastore.seams import ENCODING

# The tags and lengths around an entity in a mutation in a request, and the id of a partial key.
_BYTES_AROUND = 32
# An id in a key takes up to 10 bytes, with its tag, and the lengths of the key and of its path
# element may take one byte more each. The id of an entity is not known before something is sent.
_MAX_ID_BYTES = 12
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

    Each entity is encoded once. Entities with the same key are written in their order. Partial keys
    are completed by ``AllocateIds`` before the commit, so that a commit can be retried without
    storing an entity twice. The key of such an entity is complete once its commit was sent, even if
    the commit fails.

    Args:
        client: patched, wrapped or stock; its own connection is used.
        entities: lazy or stock entities of the client's project and database. A collection is
            taken as it is when the call begins, and encoded as a whole before anything is sent. An
            iterator is read as the commits are sent, and no more than ``concurrency`` + 1 commits
            are held.
        concurrency: how many commits run at a time.
        retry: the policy of each request. By default, contention and unavailability are retried
            with the times by which the client retries look-ups, up to 60 seconds.
        timeout: of an attempt, in seconds; the client's own by default.

    Raises:
        BulkError: some entities could not be written. If entities of a collection are larger than
            1,048,572 bytes, of which one without an id needs 12 for it, or cannot be encoded,
            nothing was sent, and ``failed`` names all of them. In an iterator such entities are
            left out and the others are written.
        RuntimeError: inside a transaction or a batch, also one that an iterator begins.
        TypeError: ``entities`` has something that is not an entity, or is an entity itself or text.
        ValueError: an entity has no key, or one of another project or database; or ``concurrency``
            is less than 1. Nothing of a collection was sent.
    """
    refuse_in_batch(client, "put_many")
    require_several("put_many", entities)
    encode, complete_key_bytes = _encoder(), complete_key_encoder()
    project, database = client.project, client.database or ""

    def write(entity: Entity) -> Write:
        require_entity("put_many", entity)
        if entity.key is None:
            raise ValueError("an entity to be written must have a key")
        key_is_partial = False
        identity: bytes | int | None = complete_key_bytes(entity.key, project, database)
        if identity is None:
            require_own(client, entity.key, is_complete=False)
            # An entity without an id is written once, however often the caller passes it.
            key_is_partial = is_partial(entity.key)
            identity = id(entity) if key_is_partial else serialised_key(entity.key)
        try:
            payload, is_known = encode(entity)
        except Exception as error:  # noqa: BLE001  # reported with the entity that it concerns
            raise_if_of_handler(error)
            return Write(entity.key, identity, entity, b"", False, error)
        size = len(payload) + (_MAX_ID_BYTES if key_is_partial else 0)
        refusal = _too_large(entity.key, size)
        return Write(entity.key, identity, entity, payload, is_known, refusal)

    sending = Sending(client, "put_many", retry, timeout, concurrency)
    if isinstance(entities, Collection):
        # Copied: encoding can run code that changes it, and an entity would be left out.
        writes = [write(entity) for entity in list(entities)]
        # Each entity once, however often it is among them.
        unsendable = {one.identity: (one.key, one.error) for one in writes if one.error is not None}
        if unsendable:
            raise BulkError(by_key(unsendable.values()), {}, 0)
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
        RuntimeError: inside a transaction or a batch, also one that an iterator begins.
        TypeError: ``keys`` has something that is neither a key nor an entity, or is an entity
            itself or text.
        ValueError: a key is partial, or of another project or database; an entity has no key; or
            ``concurrency`` is less than 1. Nothing of a collection was sent.
    """
    refuse_in_batch(client, "delete_many")
    require_several("delete_many", keys, "keys and entities")

    def delete(given: Key | Entity) -> Write:
        key = given.key if isinstance(given, Entity) else given
        if key is None and isinstance(given, Entity):
            raise ValueError("an entity to be deleted must have a key")
        if not isinstance(key, Key):
            raise TypeError(f"delete_many() takes keys and entities, not {describe_type(given)}")
        require_own(client, key, is_complete=True)
        serialised = serialised_key(key)
        return Write(key, serialised, None, serialised, True, None)

    sending = Sending(client, "delete_many", retry, timeout, concurrency)
    if isinstance(keys, Collection):
        unique = {one.identity: one for one in map(delete, list(keys))}
        sending.send(unique.values(), _delete_chunks, keep_done=True)
    else:
        sending.send(map(delete, keys), _delete_chunks, keep_done=False)


def _encoder() -> Callable[[Entity], tuple[bytes, bool]]:
    """Return the function that serialises an entity as the client would send it.

    It also says whether protobuf is known to take the bytes.
    """
    if ENCODING.is_upstream() and knows_own_classes():
        return entity_bytes
    # Somebody else replaced the client's function, or a class: it is used as the client does.
    return lambda entity: (helpers.entity_to_protobuf(entity)._pb.SerializeToString(), False)


def _too_large(key: Key, size: int) -> ValueError | None:
    if size <= MAX_ENTITY_BYTES:
        return None
    with_id = ", with its id," if is_partial(key) else ""
    return ValueError(
        f"the entity {safe_repr(key)} has{with_id} {size} bytes, more than the {MAX_ENTITY_BYTES} "
        "that Datastore stores; split it, or store the largest properties elsewhere"
    )


def _put_chunks(writes: Iterable[Write]) -> Iterator[Chunk]:
    """Group writes into commits, each with one entity of a key at most."""
    chunk: Chunk = []
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


def _delete_chunks(deletes: Iterable[Write]) -> Iterator[Chunk]:
    """Group deletions into commits, each with a key once. A key has at most a few kilobytes."""
    chunk: dict[bytes | int, Write] = {}
    for delete in deletes:
        chunk[delete.identity] = delete
        if len(chunk) == MAX_MUTATIONS:
            yield list(chunk.values())
            chunk = {}
    if chunk:
        yield list(chunk.values())
