"""Keys of the client, written without proto-plus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity._backend import key_message
from lazyentity.codec.keys import DIRECT
from lazyentity.patches.api.protoplus import wrapped


def key_to_protobuf(key: Any, original: Callable[[Any], Any]) -> Any:
    """Return the ``google.cloud.datastore_v1.types.Key`` of a key.

    Args:
        key: a ``google.cloud.datastore.Key``.
        original: the client's own ``Key.to_protobuf``. It makes the message of a key of any other
            class, and raises the error of a key without a message.
    """
    message = key_message(key) if type(key) is Key and DIRECT else None
    return original(key) if message is None else wrapped(entity_pb2.Key, message)
