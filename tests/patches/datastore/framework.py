"""A framework with its own entities and keys, which importing it puts in place of the client's.

As published frameworks do it: the conversions are functions of its own, which take apart the
message of an entity, and only convert single values with a helper of the client. Imports nothing of
lazyentity.
"""

from __future__ import annotations

from typing import Any

from google.cloud import datastore
from google.cloud.datastore.helpers import _get_meaning, _get_value_from_value_pb
from google.cloud.datastore_v1.types import entity as entity_pb2


class Key(datastore.Key):
    """A key that is no key of the client."""

    def __init__(self, *path: Any, **options: Any) -> None:
        options.pop("database", None)
        super().__init__(*path, **options)  # type: ignore[no-untyped-call]  # upstream is untyped


class Entity(datastore.Entity):
    """An entity that refuses the client's keys."""

    def __init__(self, key: Any = None, exclude_from_indexes: Any = ()) -> None:
        super().__init__(key, exclude_from_indexes)  # type: ignore[no-untyped-call]  # as above
        if key is not None and not isinstance(key, Key):
            raise TypeError(f"{key!r} is none of the framework's keys")


def key_from_protobuf(message: Any) -> Key:
    """Make a key of its message."""
    path: list[Any] = []
    for step in message.path:
        path += [step.kind, *filter(None, (step.id, step.name))]
    partition = message.partition_id
    return Key(*path, project=partition.project_id, namespace=partition.namespace_id or None)


def entity_from_protobuf(message: Any) -> Entity:
    """Make an entity of its message, in upb or proto-plus."""
    if isinstance(message, entity_pb2.Entity):
        message = message._pb
    entity = Entity(key_from_protobuf(message.key) if message.HasField("key") else None)
    for name, part in message.properties.items():
        entity[name] = value = _get_value_from_value_pb(part)
        meaning = _get_meaning(part, is_list=isinstance(value, list))
        if meaning is not None:
            entity._meanings[name] = meaning, value
        flags = {item.exclude_from_indexes for item in part.array_value.values}
        if part.exclude_from_indexes or True in flags:
            entity.exclude_from_indexes.add(name)
    return entity


datastore.helpers.key_from_protobuf = key_from_protobuf
datastore.helpers.entity_from_protobuf = entity_from_protobuf
