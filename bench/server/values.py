"""One total order over property values, and the values under which an entity is found."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .keys import EntityKey, Partition, path_of
from .schema import Message, Value

KEY_PROPERTY = "__key__"
SCATTER_PROPERTY = "__scatter__"
_SCATTERED_OF = 128
"""Datastore gives about one entity in so many a value of ``__scatter__``."""

SortKey = tuple[int, Any]
"""Rank of the value's type, then an object that compares within that type."""


class IndexedValue(NamedTuple):
    """One value under which an entity is found."""

    order: SortKey
    wire: bytes
    """The Value message, serialised."""


def _timestamp(value: Message) -> tuple[int, int]:
    return value.timestamp_value.seconds, value.timestamp_value.nanos


def _double(value: Message) -> tuple[bool, float]:
    number = value.double_value
    # NaN compares with nothing; Datastore sorts it before all other doubles.
    return (False, 0.0) if math.isnan(number) else (True, number)


def _geo_point(value: Message) -> tuple[float, float]:
    return value.geo_point_value.latitude, value.geo_point_value.longitude


def _key(value: Message) -> EntityKey:
    key = value.key_value
    partition = key.partition_id
    return EntityKey(
        Partition(partition.project_id, partition.database_id, partition.namespace_id), path_of(key)
    )


# Datastore's documented order of types. Types do not mix: an integer sorts before every double.
_TYPES: dict[str, Callable[[Message], Any]] = {
    "null_value": lambda value: 0,
    "integer_value": lambda value: value.integer_value,
    "timestamp_value": _timestamp,
    "boolean_value": lambda value: value.boolean_value,
    "blob_value": lambda value: value.blob_value,
    "string_value": lambda value: value.string_value,
    "double_value": _double,
    "geo_point_value": _geo_point,
    "key_value": _key,
}
_RANKS = {name: rank for rank, name in enumerate(_TYPES)}


def sort_key(value: Message) -> SortKey | None:
    """The position of ``value`` among all values; None if it has none (unset, array, entity)."""
    name = value.WhichOneof("value_type")
    if name not in _TYPES:
        return None
    return _RANKS[name], _TYPES[name](value)


def key_value(identity: EntityKey, key: Message) -> IndexedValue:
    """The value of ``__key__`` for the entity of that key."""
    return IndexedValue((_RANKS["key_value"], identity), Value(key_value=key).SerializeToString())


def scatter_values(identity: EntityKey) -> tuple[IndexedValue, ...]:
    """The value of ``__scatter__`` for the entity of that key; most entities have none.

    Query splitters sort by it to get a random sample of the keys.
    """
    digest = hashlib.blake2b(repr(identity.path).encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "big", signed=True)
    if number % _SCATTERED_OF:
        return ()
    wire = Value(integer_value=number).SerializeToString()
    return (IndexedValue((_RANKS["integer_value"], number), wire),)


def _walk(name: str, value: Message) -> Iterator[tuple[str, IndexedValue]]:
    if value.exclude_from_indexes:
        return
    kind = value.WhichOneof("value_type")
    if kind == "array_value":
        for element in value.array_value.values:
            yield from _walk(name, element)
    elif kind == "entity_value":
        # Datastore finds an entity by an embedded entity's properties under their dotted names.
        for inner, inner_value in value.entity_value.properties.items():
            yield from _walk(f"{name}.{inner}", inner_value)
    else:
        order = sort_key(value)
        if order is not None:
            yield name, IndexedValue(order, value.SerializeToString())


def index_properties(entity: Message) -> dict[str, tuple[IndexedValue, ...]]:
    """The values under which ``entity`` is found, by property name.

    Properties excluded from indexes are left out; of equal array elements, only the first is there.
    """
    found: dict[str, dict[SortKey, IndexedValue]] = {}
    for name, value in entity.properties.items():
        for path, indexed in _walk(name, value):
            found.setdefault(path, {}).setdefault(indexed.order, indexed)
    return {name: tuple(values.values()) for name, values in found.items()}
