"""Mutations that are parts of the request that commits them, and need not be copied into it.

The batch's list of mutations stays the client's own. A mutation refers to its request, and the
``Entity`` message in the mutation refers to the mutation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity.patches.api.protoplus import wrapped
from lazyentity.patches.api.requests import PART_OF

_CommitRequest: Any = datastore_pb2.CommitRequest.pb()

_MUTATION = "_lazyentity_mutation"

_KINDS = {
    "delete": entity_pb2.Key,
    "insert": entity_pb2.Entity,
    "upsert": entity_pb2.Entity,
}
"""The class of the message of each operation."""


def add_mutation(batch: Any, operation: str) -> Any:
    """Add a mutation to a batch, as the methods of the batch do.

    Args:
        batch: a ``google.cloud.datastore.Batch``.
        operation: insert, upsert or delete.

    Returns:
        The message of the operation, in proto-plus.
    """
    mutations = batch._mutations
    request = getattr(mutations[-1], "__dict__", {}).get(PART_OF) if mutations else _CommitRequest()
    # A request with a project is being sent, perhaps again: the client sends what was there before.
    if request is None or request.project_id:
        mutation = datastore_pb2.Mutation()
    else:
        mutation = wrapped(datastore_pb2.Mutation, request.mutations.add())
        vars(mutation)[PART_OF] = request
    mutations.append(mutation)
    # As the attribute of the mutation, without proto-plus's getter and its marshal.
    message = wrapped(_KINDS[operation], getattr(mutation._pb, operation))
    vars(message)[_MUTATION] = mutation
    return message


def assign_in_mutation(message: Any, assign: Callable[[Any], bool]) -> None:
    """Fill the operation of a mutation; leave the mutation without an operation if that raises.

    Args:
        message: the empty message of the operation, in proto-plus.
        assign: fills an empty upb message of the same class, and says whether its nesting is known
            to be within protobuf's limit in any request.
    """
    mutation = vars(message).get(_MUTATION)
    if mutation is None:
        # Added to the batch by the client: nothing says which mutation it is part of.
        apart = type(message._pb)()
        assign(apart)
        message._pb.CopyFrom(apart)
        return
    try:
        fits = assign(message._pb)
    except BaseException:
        mutation._pb.Clear()
        raise
    if not fits:
        # Copying parses, and so refuses a message that is nested too deep, as the client does.
        vars(mutation).pop(PART_OF, None)
