"""Identities of entities, and one total order over property values."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .errors import invalid_argument
from .schema import Key, Message, Value

# An id sorts before a name; the middle number tells ids from names, so that they never compare.
PathElement = tuple[str, int, int | str]
Path = tuple[PathElement, ...]


class Scope(NamedTuple):
    """The project and database that a request is about."""

    project: str
    database: str


class Partition(NamedTuple):
    """A partition: no query sees two of them."""

    project: str
    database: str
    namespace: str


class EntityKey(NamedTuple):
    """A complete key. Sorts as Datastore sorts keys: by path, an ancestor before its children."""

    partition: Partition
    path: Path

    @property
    def kind(self) -> str:
        """Kind of the last path element."""
        return self.path[-1][0]

    def __str__(self) -> str:
        steps = ", ".join(f"{kind}: {identifier!r}" for kind, _, identifier in self.path)
        return f"({steps}) in namespace {self.partition.namespace!r}"


def resolve_partition(partition: Message, scope: Scope) -> Partition:
    """The partition named by a PartitionId, whose empty project and database are the request's.

    Raises INVALID_ARGUMENT when it names another project or database than the request.
    """
    project = partition.project_id or scope.project
    database = partition.database_id or scope.database
    if (project, database) != scope:
        raise invalid_argument(
            f"the request is for project {scope.project!r}, database {scope.database!r}, "
            f"but a key or partition in it names project {project!r}, database {database!r}"
        )
    return Partition(project, database, partition.namespace_id)


def path_of(key: Message) -> Path:
    """The path of a key as it is, complete or not; a missing id reads as 0."""
    return tuple(
        (element.kind, 1, element.name)
        if element.WhichOneof("id_type") == "name"
        else (element.kind, 0, element.id)
        for element in key.path
    )


def resolve_key(key: Message, scope: Scope) -> EntityKey:
    """The identity of a complete key; writes the resolved project and database into ``key``.

    Raises INVALID_ARGUMENT when the key is incomplete or belongs to another project or database.
    """
    path = path_of(key)
    if not path:
        raise invalid_argument("a key must have a path of at least one element")
    for kind, _, identifier in path:
        if not (kind and identifier):
            raise invalid_argument(
                f"the key path element of kind {kind!r} has neither an id nor a name"
            )
    identity = EntityKey(resolve_partition(key.partition_id, scope), path)
    key.partition_id.project_id = scope.project
    key.partition_id.database_id = scope.database
    return identity


@functools.lru_cache(maxsize=1 << 16)
def resolve_wire(wire: bytes, scope: Scope) -> tuple[EntityKey, bytes]:
    """The identity of a serialised key, and the key with its project and database, serialised.

    Clients repeat their keys, so the results are kept.

    Raises INVALID_ARGUMENT as :func:`resolve_key`.
    """
    key = Key.FromString(wire)
    identity = resolve_key(key, scope)
    return identity, bytes(key.SerializeToString())


def is_incomplete(key: Message) -> bool:
    """Whether the last path element has neither id nor name, so that the server chooses an id."""
    return bool(key.path) and key.path[-1].WhichOneof("id_type") is None


KEY_PROPERTY, SCATTER_PROPERTY = "__key__", "__scatter__"

SortKey = tuple[int, Any]
"""Rank of the value's type, then an object that compares within that type."""


class IndexedValue(NamedTuple):
    """One value under which an entity is found."""

    order: SortKey
    wire: bytes
    """The Value message, serialised."""


def _double(value: Message) -> tuple[bool, float]:
    number = value.double_value
    # NaN compares with nothing; Datastore sorts it before all other doubles.
    return (False, 0.0) if math.isnan(number) else (True, number)


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
    "timestamp_value": lambda value: (value.timestamp_value.seconds, value.timestamp_value.nanos),
    "boolean_value": lambda value: value.boolean_value,
    "blob_value": lambda value: value.blob_value,
    "string_value": lambda value: value.string_value,
    "double_value": _double,
    "geo_point_value": lambda value: (
        value.geo_point_value.latitude,
        value.geo_point_value.longitude,
    ),
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


def scatter_value(identity: EntityKey) -> IndexedValue:
    """The value of ``__scatter__``, by which query splitters get a random sample of the keys."""
    digest = hashlib.blake2b(repr(identity.path).encode(), digest_size=7).digest()
    number = int.from_bytes(digest, "big")
    wire = Value(integer_value=number).SerializeToString()
    return IndexedValue((_RANKS["integer_value"], number), wire)


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
