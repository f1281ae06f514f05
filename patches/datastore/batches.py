"""Mutations of batches that keep their entities in bytes until somebody looks at them.

The batch's list of mutations stays the client's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.cloud.datastore import batch as batch_module
from google.cloud.datastore import helpers
from google.cloud.datastore import transaction as transaction_module
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore.transaction import Transaction
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity.codec.errors import refuse_undecoded
from lazyentity.codec.keys import DIRECT
from lazyentity.encoding import knows_own_classes, sendable_entity
from lazyentity.patches.api.protoplus import wrapped
from lazyentity.patches.api.requests import MutationBytes
from lazyentity.patches.datastore.keys import key_is_partial
from lazyentity.patches.datastore.seams import ENCODING, IS_PARTIAL, PUT
from lazyentity.patches.upstream import UpstreamModules

_Mutation: Any = datastore_pb2.Mutation.pb()

_SHOWN = "_lazyentity_shown"
"""The attribute of a batch whose mutations somebody asked for."""

# Attributes of a batch that say that it is not as the client made it, or not any more.
_OWN = frozenset((_SHOWN, "_allow_mutations", "put"))

# Not attributes of the class itself, of which a mock of a property takes note.
_of_key = vars(Key)
# They are passed over.
_upstream = UpstreamModules(batch_module, transaction_module)
_ADDING = ("_add_partial_key_entity_pb", "_add_complete_key_entity_pb")
_adding = _upstream.methods(batch_module.Batch, *_ADDING)
_assign = _upstream.upstream_function(batch_module, "_assign_entity_to_pb")
# Version 2.20 came with the method.
_allowing: dict[type, Any] = {
    kind: _upstream.upstream_function(kind, "_allow_mutations")
    if hasattr(kind, "_allow_mutations")
    else None
    for kind in (batch_module.Batch, Transaction)
}

# No code of the caller runs between the items of these.
_STILL = (list, tuple)


def put_entity(batch: Any, entity: Any) -> bool:
    """Put an entity into a batch, as the method of the batch does, if it can be encoded to bytes.

    Args:
        batch: a ``google.cloud.datastore.Batch``.
        entity: any object.

    Returns:
        False, and nothing has changed, if the client has to do it: for entities that it may refuse,
        keys and batches of subclasses, and where somebody replaced a function on the way.

    Raises:
        As :func:`~lazyentity.patches.datastore.encoding.entity_to_protobuf`; then the batch has
        one more mutation, without an operation.
    """
    return _is_known(batch) and _put(batch, entity, batch.project, batch.database)


def put_each(batch: Any, entities: Iterable[Any]) -> None:
    """Put any objects into what ``Client.batch`` returned, which nobody else has.

    Raises:
        As :func:`put_entity`, and as the batch's own method.
    """
    put = getattr(type(batch), "put", None)
    is_known = put is PUT.replacement and type(entities) in _STILL and _is_known(batch)
    project, database = (batch.project, batch.database) if is_known else (None, None)
    for entity in entities:
        if not (is_known and _put(batch, entity, project, database)):
            batch.put(entity)


def _is_known(batch: Any) -> bool:
    kind = type(batch)
    return (
        kind in _allowing
        and getattr(kind, "_allow_mutations", None) is _allowing[kind]
        and batch_module._assign_entity_to_pb is _assign
        and helpers.entity_to_protobuf is ENCODING.replacement
        and knows_own_classes()
        and _of_key.get("is_partial") is IS_PARTIAL.replacement
        and _OWN.isdisjoint(vars(batch))
        and _adding.are_upstream(batch)
        and DIRECT
    )


def _put(batch: Any, entity: Any, project: Any, database: Any) -> bool:
    if batch._status != batch._IN_PROGRESS or not isinstance(entity, Entity):
        return False
    key = entity.key
    if type(key) is not Key or project != key._project or database != key._database:
        return False
    is_partial = key_is_partial(key, bool)
    mutation = MutationBytes.of("insert" if is_partial else "upsert")
    batch._mutations.append(mutation)
    if is_partial:
        batch._partial_key_entities.append(entity)
    try:
        encoded = sendable_entity(entity)
    except ValueError as error:
        refuse_undecoded(entity, error)
        raise
    if type(encoded) is bytes:
        mutation.put_entity(encoded)
    else:
        mutation.put_message(encoded)
    return True


def add_delete_key(_original: Any, batch: Any) -> Any:
    """Add a deletion to a batch, as the method of the batch does; return its empty message."""
    mutation = wrapped(datastore_pb2.Mutation, _Mutation())
    batch._mutations.append(mutation)
    # As the attribute of the mutation, without proto-plus's getter and its marshal.
    return wrapped(entity_pb2.Key, mutation._pb.delete)


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
