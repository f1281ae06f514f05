"""Keys and entities on their way to the server, encoded without proto-plus.

Mutations of batches keep their entities in bytes until somebody looks at them. The batch's list of
mutations stays the client's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from google.cloud.datastore.batch import Batch
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore.transaction import Transaction
from google.cloud.datastore_v1.types import datastore as datastore_pb2, entity as entity_pb2

from lazyentity._backend import key_message
from lazyentity.codec.errors import refuse_undecoded
from lazyentity.codec.keys import DIRECT
from lazyentity.encoding import entity_message, sendable_entity
from lazyentity.patches.api.requests import MutationBytes, wrapped
from lazyentity.patches.datastore.seams import CLIENT

_Mutation: Any = datastore_pb2.Mutation.pb()
_BATCHES: Final = frozenset((Batch, Transaction))
# No code of the caller runs between the items of these.
_SEQUENCES: Final = frozenset((list, tuple))


def key_to_protobuf(original: Callable[[Any], Any], key: Any) -> Any:
    """Return the ``google.cloud.datastore_v1.types.Key`` of a key.

    Args:
        original: the client's own ``Key.to_protobuf``. It makes the message of a key of any other
            class, and raises the error of a key without a message.
        key: a ``google.cloud.datastore.Key``.
    """
    message = key_message(key) if type(key) is Key and DIRECT else None
    return original(key) if message is None else wrapped(entity_pb2.Key, message)


def entity_to_protobuf(original: Callable[[Any], Any], entity: Any) -> Any:
    """Return the ``google.cloud.datastore_v1.types.Entity`` of an entity.

    Args:
        original: the client's own ``entity_to_protobuf``, for any other object, and while the
            client's guard is not intact.
        entity: a lazy or a stock entity.

    Raises:
        Exception: the client's own, for a value of the entity.
        TypeError: if the entity holds an undecoded property of another one.
        google.protobuf.message.DecodeError: if something malformed would have to be sent.
    """
    if not isinstance(entity, Entity) or not CLIENT.guard.is_intact():
        return original(entity)
    try:
        return wrapped(entity_pb2.Entity, entity_message(entity))
    except ValueError as error:
        refuse_undecoded(entity, error)
        raise


def put(original: Callable[[Any, Any], None], batch: Any, entity: Any) -> None:
    """Put an entity into a batch, in bytes if it can be encoded to bytes.

    Args:
        original: the method of the batch, for entities that it may refuse, keys and batches of
            subclasses, and while the client's guard is not intact.
        batch: a ``google.cloud.datastore.Batch``.
        entity: any object.

    Raises:
        As :func:`entity_to_protobuf`; then the batch has one more mutation, without an operation.
    """
    if not (_is_known(batch) and _put(batch, entity, batch.project, batch.database)):
        original(batch, entity)


def put_each(batch: Any, entities: Iterable[Any]) -> None:
    """Put any objects into what ``Client.batch`` returned, which nobody else has.

    Raises:
        As :func:`put`, and as the batch's own method.
    """
    is_known = type(entities) in _SEQUENCES and _is_known(batch)
    project, database = (batch.project, batch.database) if is_known else (None, None)
    for entity in entities:
        if not (is_known and _put(batch, entity, project, database)):
            batch.put(entity)


def _is_known(batch: Any) -> bool:
    return type(batch) in _BATCHES and DIRECT and CLIENT.guard.is_intact()


def _put(batch: Any, entity: Any, project: Any, database: Any) -> bool:
    if batch._status != batch._IN_PROGRESS or not isinstance(entity, Entity):
        return False
    key = entity.key
    if type(key) is not Key or project != key._project or database != key._database:
        return False
    # The client copies the whole path for that, twice.
    last = key._path[-1]
    is_partial = last.get("id") is None and last.get("name") is None
    operation = "insert" if is_partial else "upsert"
    mutation = wrapped(datastore_pb2.Mutation, _Mutation())
    try:
        encoded = sendable_entity(entity)
        if type(encoded) is bytes:
            mutation = MutationBytes.from_entity(operation, encoded)
        else:
            getattr(mutation._pb, operation).CopyFrom(encoded)
    except ValueError as error:
        refuse_undecoded(entity, error)
        raise
    finally:
        # As the client, which adds a mutation before it encodes the entity.
        batch._mutations.append(mutation)
        if is_partial:
            batch._partial_key_entities.append(entity)
    return True


def put_multi(
    original: Callable[..., None],
    client: Any,
    entities: Any,
    retry: Any = None,
    timeout: Any = None,
) -> None:
    """Write entities as ``Client.put_multi``, also for ``put``; see :func:`put`."""
    if isinstance(entities, Entity):
        original(client, entities, retry=retry, timeout=timeout)
    elif entities:
        # As the original, but for put_each().
        batch = client.current_batch
        if batch is not None:
            for entity in entities:
                batch.put(entity)
            return
        batch = client.batch()
        batch.begin()
        put_each(batch, entities)
        batch.commit(retry=retry, timeout=timeout)
