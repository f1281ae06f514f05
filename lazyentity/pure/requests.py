"""Requests: keys, and the mutations around entities and keys in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.cloud.datastore.key import Key

from lazyentity.codec import messages, shadow


def key_bytes(key: Key) -> bytes | None:
    """As :meth:`lazyentity._backend.abc.Backend.key_bytes`."""
    message = key_message(key)
    return None if message is None else bytes(message.SerializeToString())


def complete_key_bytes(key: object, project: str, database: str) -> bytes | None:
    """As :meth:`lazyentity._backend.abc.Backend.complete_key_bytes`."""
    if type(key) is not Key or key.project != project or (key.database or "") != database:
        return None
    try:
        last = key._path[-1]
        is_partial = last.get("id") is None and last.get("name") is None
    except (AttributeError, IndexError, TypeError):
        # Not a key as its constructor makes it.
        return None
    return None if is_partial else key_bytes(key)


def key_message(key: Key) -> Any:
    """As :meth:`lazyentity._backend.abc.Backend.key_message`."""
    if "to_protobuf" in vars(key):
        # A replacement for this key alone.
        return None
    message = messages.Key()
    try:
        partition = message.partition_id
        partition.project_id = key.project
        if key.database:
            partition.database_id = key.database
        if key.namespace:
            partition.namespace_id = key.namespace
        add = message.path.add
        # Key.path would be a deep copy.
        for element in key._path:
            if "id" in element and "name" in element:
                # The last one counts: for the client, that is the name.
                return None
            add(**element)
    except (TypeError, ValueError):
        return None
    return message


def mutation_parts(mutations: Iterable[Mapping[str, bytes]]) -> list[bytes]:
    """As :meth:`lazyentity._backend.abc.Backend.mutation_parts`."""
    return [shadow.CommitMutations(mutations=mutations).SerializeToString()]
