"""Keys of the client, written and asked without proto-plus and without copies of their path."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._backend import key_message
from lazyentity.codec.keys import DIRECT
from lazyentity.patches.api.protoplus import wrapped

_to_protobuf = operator.methodcaller("to_protobuf")


def key_to_protobuf(key: Any, original: Callable[[Any], Any]) -> Any:
    """Return the ``google.cloud.datastore_v1.types.Key`` of a key.

    Args:
        key: a ``google.cloud.datastore.Key``.
        original: the client's own ``Key.to_protobuf``. It makes the message of a key of any other
            class, and raises the error of a key without a message.
    """
    message = key_message(key) if type(key) is Key and DIRECT else None
    return original(key) if message is None else wrapped(entity_pb2.Key, message)


def encoded_key(key: Any) -> Any:
    """Return what ``key.to_protobuf()`` of the client returns, in less time."""
    return key_to_protobuf(key, _to_protobuf)


def key_is_partial(key: Any, original: Callable[[Any], Any]) -> Any:
    """Whether a key has neither an id nor a name.

    The client copies the whole path for that, twice.

    Args:
        key: a ``google.cloud.datastore.Key``.
        original: the client's own ``Key.is_partial``, for keys of any other class.
    """
    if type(key) is not Key or not DIRECT:
        return original(key)
    last = key._path[-1]
    return last.get("id") is None and last.get("name") is None
