"""Keys and requests, equal to the client's but built without proto-plus on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._backend import key_message
from lazyentity.codec.keys import DIRECT
from lazyentity.patches.api.protoplus import wrapped
from lazyentity.patches.datastore.batches import request_of

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()

# What the client puts into its requests, with the types that it puts there.
_LOOKUP_FIELDS: dict[str, tuple[type, ...]] = {
    "project_id": (str,),
    "database_id": (str,),
    "keys": (list,),
    "read_options": (datastore_pb2.ReadOptions,),
}
_COMMIT_FIELDS: dict[str, tuple[type, ...]] = {
    "project_id": (str,),
    "database_id": (str,),
    "mode": (datastore_pb2.CommitRequest.Mode,),
    "transaction": (bytes,),
    "mutations": (list,),
}


def key_to_protobuf(key: Any, otherwise: Callable[[Any], Any]) -> Any:
    """Return the ``google.cloud.datastore_v1.types.Key`` of a key.

    Args:
        key: a ``google.cloud.datastore.Key``.
        otherwise: the client's own ``Key.to_protobuf``. It makes the message of a key of any other
            class, and says what is wrong with one that has no message.
    """
    message = key_to_message(key)
    return otherwise(key) if message is None else wrapped(entity_pb2.Key, message)


def key_to_message(key: Any) -> Any:
    """Return the upb ``google.datastore.v1.Key`` of a key; None for the client to make it.

    Args:
        key: as for :func:`key_to_protobuf`.
    """
    return key_message(key) if type(key) is Key and DIRECT else None


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
    whole = request_of(mutations)
    if whole is not None:
        whole.MergeFrom(message)
        message = whole
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
