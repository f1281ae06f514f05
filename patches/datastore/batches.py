"""Mutations of batches that keep their entities in bytes until somebody looks at them.

The batch's list of mutations stays the client's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity.codec.errors import refuse_undecoded
from lazyentity.encoding import entity_message, sendable_entity
from lazyentity.patches.api.protoplus import wrapped
from lazyentity.patches.api.requests import Changeable, MutationBytes

_Mutation: Any = datastore_pb2.Mutation.pb()

_KINDS = {
    "delete": entity_pb2.Key,
    "insert": entity_pb2.Entity,
    "upsert": entity_pb2.Entity,
}
"""The class of the message of each operation."""

_SHOWN = "_lazyentity_shown"
"""The attribute of a batch whose mutations somebody asked for."""


class _EntityOfMutation(Changeable):
    """A proxy of the empty ``google.datastore.v1.Entity`` of a mutation that was just added."""

    __slots__ = ("_message", "_mutation")

    _real = entity_pb2.Entity

    _mutation: Any

    def _make(self) -> Any:
        return wrapped(self._real, self._mutation.entity_message())


def add_mutation(batch: Any, operation: str) -> Any:
    """Add a mutation to a batch, as the methods of the batch do.

    Args:
        batch: a ``google.cloud.datastore.Batch``.
        operation: insert, upsert or delete.

    Returns:
        The message of the operation, in proto-plus, or a proxy of it.
    """
    if operation == "delete" or _SHOWN in vars(batch):
        mutation = wrapped(datastore_pb2.Mutation, _Mutation())
        # As the attribute of the mutation, without proto-plus's getter and its marshal.
        message = wrapped(_KINDS[operation], getattr(mutation._pb, operation))
    else:
        mutation = MutationBytes.of(operation)
        message = object.__new__(_EntityOfMutation)
        # Changeable.__setattr__ is in Python.
        object.__setattr__(message, "_mutation", mutation)
    batch._mutations.append(mutation)
    return message


def show_mutations(batch: Any) -> None:
    """Put the client's own messages in place of the proxies in a batch, now and from now on.

    Args:
        batch: a ``google.cloud.datastore.Batch``.
    """
    vars(batch)[_SHOWN] = True
    mutations = batch._mutations
    if not isinstance(mutations, list):
        return
    for at, mutation in enumerate(mutations):
        if type(mutation) is MutationBytes:
            message = mutation._whole()
            # Another thread may have removed one.
            if at < len(mutations) and mutations[at] is mutation:
                mutations[at] = message


def assign_entity_to_pb(message: Any, entity: Any, original: Callable[[Any, Any], Any]) -> None:
    """Fill the operation of a mutation; leave the mutation without an operation if that raises.

    Args:
        message: the empty message of the operation, in proto-plus, or a proxy of it.
        entity: a lazy or a stock entity.
        original: the client's own ``_assign_entity_to_pb``, for any other objects.

    Raises:
        As :func:`~lazyentity.patches.datastore.encoding.entity_to_protobuf`.
    """
    if not isinstance(entity, Entity) or type(message) not in _FILLED:
        original(message, entity)
        return
    try:
        if type(message) is entity_pb2.Entity:
            message._pb.CopyFrom(entity_message(entity))
            return
        encoded = sendable_entity(entity)
        if type(encoded) is bytes:
            message._mutation.put_entity(encoded)
        else:
            message._mutation.entity_message().CopyFrom(encoded)
    except ValueError as error:
        refuse_undecoded(entity, error)
        raise


_FILLED = frozenset((_EntityOfMutation, entity_pb2.Entity))
