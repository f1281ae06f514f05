"""Mutations of a commit, applied one after the other to a state that nobody else sees yet."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from typing import NamedTuple

import grpc
from google.protobuf.message import DecodeError

from .errors import DatastoreError, invalid_argument
from .keys import EntityKey, Scope, parse_key, resolve_complete, resolve_key, resolve_wire
from .schema import Entity, Message, refuse
from .store import PendingWrite, Store

MAX_ENTITY_BYTES = 1024 * 1024 - 4
"""Datastore's limit for one entity. Any such entity fits into one response."""

_FIRST_ID = 1 << 50
"""Allocated ids start far above those that people choose, and stay exact in a double."""


class IdAllocator:
    """Ids for incomplete keys, each given out once. May be used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = itertools.count(_FIRST_ID)
        self._reserved: set[EntityKey] = set()
        self._lock = threading.Lock()

    def complete(self, key: Message, scope: Scope) -> EntityKey:
        """Write an unused id into the last path element of ``key``.

        Raises INVALID_ARGUMENT when another element is incomplete.
        """
        with self._lock:
            while True:
                key.path[-1].id = next(self._next)
                identity = resolve_key(key, scope)
                if identity not in self._reserved and self._store.get(identity) is None:
                    return identity

    def reserve(self, keys: Iterable[EntityKey]) -> None:
        """Never give out these keys' ids."""
        with self._lock:
            self._reserved.update(keys)


class Staged(NamedTuple):
    """One mutation, applied: the key it wrote, and whether its id was allocated for it."""

    key: EntityKey
    key_wire: bytes
    allocated: bool


class Staging:
    """The writes of a commit; hold the store's lock while using this object."""

    def __init__(self, store: Store, ids: IdAllocator, scope: Scope, *, trusting: bool) -> None:
        """``trusting`` says that entities are not parsed."""
        self.writes: dict[EntityKey, PendingWrite | None] = {}
        self._store = store
        self._ids = ids
        self._scope = scope
        self._trusting = trusting

    def _exists(self, key: EntityKey) -> bool:
        if key in self.writes:
            return self.writes[key] is not None
        return self._store.get(key) is not None

    def apply(self, mutation: Message) -> Staged:
        """Stage one split Mutation message on top of those before it.

        Raises INVALID_ARGUMENT for a mutation that can never be right, ALREADY_EXISTS for an insert
        of an entity that exists, NOT_FOUND for an update of an entity that does not.
        """
        fields = mutation.ListFields()
        if len(fields) != 1 or mutation.WhichOneof("operation") is None:
            refuse(
                mutation,
                "base_version",
                "update_time",
                "conflict_resolution_strategy",
                "property_mask",
                "property_transforms",
            )
            raise invalid_argument("a mutation must have an operation")
        ((field, content),) = fields
        if field.name == "delete":
            key, _ = resolve_complete(content, self._scope)
            self.writes[key] = None
            return Staged(key, b"", allocated=False)
        return self._write(field.name, content)

    def _write(self, operation: str, entity: Message) -> Staged:
        if not entity.HasField("key"):
            raise invalid_argument("an entity to be stored must have a key")
        received = entity.key
        key, resolved = resolve_wire(received, self._scope)
        allocated = key is None and operation != "update"
        if allocated:
            message = parse_key(received)
            key = self._ids.complete(message, self._scope)
            resolved = message.SerializeToString()
        elif key is None:
            key, _ = resolve_complete(received, self._scope)
        if operation == "insert" and self._exists(key):
            raise DatastoreError(grpc.StatusCode.ALREADY_EXISTS, f"{key} already exists")
        if operation == "update" and not self._exists(key):
            raise DatastoreError(grpc.StatusCode.NOT_FOUND, f"there is no {key} to update")
        if resolved != received:
            entity.key = resolved
        write = PendingWrite(resolved, entity.SerializeToString())
        if not self._trusting:
            try:
                Entity.FromString(write.wire)
            except DecodeError as error:
                raise invalid_argument(f"{key} cannot be parsed: {error}") from error
        if len(write.wire) > MAX_ENTITY_BYTES:
            raise invalid_argument(
                f"{key} is {len(write.wire)} bytes, more than the {MAX_ENTITY_BYTES} allowed"
            )
        self.writes[key] = write
        return Staged(key, resolved, allocated)
