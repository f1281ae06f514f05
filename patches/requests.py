"""Keys and requests, equal to the client's but built without proto-plus on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._backend import key_message
from lazyentity.codec.key import DIRECT
from lazyentity.patches.protoplus import wrapped

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()

# What the client puts into its requests, with the types that it puts there.
_LOOKUP_FIELDS: dict[str, tuple[type, ...]] = {
    "project_id": (str,),
    "database_id": (str,),
    "keys": (list,),
    "read_options": (datastore_pb2.ReadOptions,),
}


def key_to_protobuf(key: Any, otherwise: Callable[[Any], Any]) -> Any:
    """Return the ``google.cloud.datastore_v1.types.Key`` of a key.

    Args:
        key: a ``google.cloud.datastore.Key``.
        otherwise: the client's own ``Key.to_protobuf``. It makes the message of a key of any other
            class, and says what is wrong with one that has no message.
    """
    message = key_message(key) if type(key) is Key and DIRECT else None
    return otherwise(key) if message is None else wrapped(entity_pb2.Key, message)


def key_is_partial(key: Any, otherwise: Callable[[Any], Any]) -> Any:
    """Say whether a key has neither an id nor a name.

    The client copies the whole path for that, twice.

    Args:
        key: a ``google.cloud.datastore.Key``.
        otherwise: the client's own ``Key.is_partial``, for keys of any other class.
    """
    if type(key) is not Key or not DIRECT:
        return otherwise(key)
    last = key._path[-1]
    return last.get("id") is None and last.get("name") is None


def lookup_request(request: Any) -> Any:
    """Return the ``LookupRequest`` that proto-plus would make of ``request``.

    Args:
        request: what the client's API objects take. What is not a dict as the client makes it is
            returned as it is.
    """
    fields = _fields_as_expected(request, _LOOKUP_FIELDS)
    if fields is None:
        return request
    keys = fields.pop("keys", [])
    if any(type(key) is not entity_pb2.Key for key in keys):
        return request
    options = fields.pop("read_options", None)
    message = _LookupRequest(**fields)
    if options is not None:
        message.read_options.CopyFrom(options._pb)
    message.keys.extend([key._pb for key in keys])
    return wrapped(datastore_pb2.LookupRequest, message)


class Mutations(list[Any]):
    """The mutations of a batch, each a part of the request that is to commit them.

    Attributes:
        request: an upb ``CommitRequest`` that has the mutations, and nothing else, until it is
            sent.
    """

    __slots__ = ("request",)

    def __init__(self) -> None:
        super().__init__()
        self.request: Any = _CommitRequest()

    def new(self) -> Any:
        """Return a new ``Mutation``, appended."""
        mutation = wrapped(datastore_pb2.Mutation, self.request.mutations.add())
        self.append(mutation)
        return mutation

    def can_be_sent(self) -> bool:
        """Say whether the request is what these mutations would be copied into."""
        parts = self.request.mutations
        return (
            not self.request.project_id
            and len(self) == len(parts)
            and all(mutation._pb is part for mutation, part in zip(self, parts, strict=True))
        )


_COMMIT_FIELDS: dict[str, tuple[type, ...]] = {
    "project_id": (str,),
    "database_id": (str,),
    "mode": (datastore_pb2.CommitRequest.Mode,),
    "transaction": (bytes,),
    "mutations": (list, Mutations),
}


def new_mutation(batch: Any) -> Any:
    """Return a new ``Mutation`` of a batch, as its methods add one.

    Args:
        batch: a ``google.cloud.datastore.Batch``.
    """
    if type(batch._mutations) is list and not batch._mutations:
        batch._mutations = Mutations()
    if type(batch._mutations) is Mutations:
        return batch._mutations.new()
    mutation = datastore_pb2.Mutation()
    batch._mutations.append(mutation)
    return mutation


def commit_request(request: Any) -> Any:
    """Return the ``CommitRequest`` that proto-plus would make of ``request``.

    Args:
        request: as for :func:`lookup_request`. If its mutations are all those of a batch, they are
            not copied.
    """
    fields = _fields_as_expected(request, _COMMIT_FIELDS)
    if fields is None:
        return request
    mutations = fields.pop("mutations", [])
    if any(type(mutation) is not datastore_pb2.Mutation for mutation in mutations):
        return request
    message = _CommitRequest(**fields)
    if type(mutations) is Mutations and mutations.can_be_sent():
        mutations.request.MergeFrom(message)
        message = mutations.request
    else:
        message.mutations.extend([mutation._pb for mutation in mutations])
    return wrapped(datastore_pb2.CommitRequest, message)


def _fields_as_expected(
    request: Any, expected: dict[str, tuple[type, ...]]
) -> dict[str, Any] | None:
    """Return the fields of ``request`` that are set; None, if it is not as the client makes it."""
    if type(request) is not dict:
        return None
    fields = {name: value for name, value in request.items() if value is not None}
    if any(type(value) not in expected.get(name, ()) for name, value in fields.items()):
        return None
    return fields
