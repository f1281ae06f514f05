"""Identities of entities: keys read out of their messages and checked."""

from __future__ import annotations

import functools
from typing import NamedTuple

from google.protobuf.message import DecodeError

from .errors import invalid_argument
from .schema import Key, Message

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
        if not kind:
            raise invalid_argument("a key path element must have a kind")
        if not identifier:
            raise invalid_argument(
                f"the key path element of kind {kind!r} has neither an id nor a name"
            )
    identity = EntityKey(resolve_partition(key.partition_id, scope), path)
    key.partition_id.project_id = scope.project
    key.partition_id.database_id = scope.database
    return identity


def parse_key(wire: bytes) -> Message:
    """The Key message of some bytes.

    Raises INVALID_ARGUMENT when they are none.
    """
    try:
        return Key.FromString(wire)
    except DecodeError as error:
        raise invalid_argument(f"a key cannot be parsed: {error}") from error


@functools.lru_cache(maxsize=1 << 16)
def resolve_wire(wire: bytes, scope: Scope) -> tuple[EntityKey | None, bytes]:
    """The identity of a serialised key, and the key with its project and database, serialised.

    A key that lacks an id has no identity, and is returned as it is. Clients repeat their keys, so
    the results are kept.

    Raises INVALID_ARGUMENT when the bytes are no key, or as :func:`resolve_key`.
    """
    key = parse_key(wire)
    if is_incomplete(key):
        return None, wire
    identity = resolve_key(key, scope)
    return identity, bytes(key.SerializeToString())


def resolve_complete(wire: bytes, scope: Scope) -> tuple[EntityKey, bytes]:
    """As :func:`resolve_wire`; raises INVALID_ARGUMENT also when the key is incomplete."""
    identity, resolved = resolve_wire(wire, scope)
    return identity or resolve_key(parse_key(wire), scope), resolved


def is_incomplete(key: Message) -> bool:
    """Whether the last path element has neither id nor name, so that the server chooses an id."""
    return bool(key.path) and key.path[-1].WhichOneof("id_type") is None
