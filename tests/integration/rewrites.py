"""Servers that the tests talk to, and changes to stored entities, as a program would make them.

Each rewrite takes a client, finds the entities that :func:`prepare` stored, and writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from google.cloud import datastore

from tests.support.clients import BEGINS_LATER, PROJECT, make_client
from tests.support.entities import CHANGES, fill


@dataclass(frozen=True)
class Endpoint:
    """A Datastore server."""

    name: str
    """For messages."""
    ports: Mapping[str, int] | None = None
    """By transport; None for the server that DATASTORE_EMULATOR_HOST names."""

    @property
    def is_ours(self) -> bool:
        """Whether the server is the loopback server, which has everything that is tested here."""
        return self.name.startswith("loopback")

    def client(self, transport: str, **options: Any) -> datastore.Client:
        """Return a client; for the server that the environment names, made as its users do."""
        if self.ports is None:
            return datastore.Client(project=PROJECT, _use_grpc=transport == "grpc", **options)
        return make_client(self.ports[transport], transport, **options)


def wipe(client: datastore.Client) -> None:
    """Delete all that is in the namespace of ``client``."""
    query = client.query()
    query.keys_only()
    keys = [entity.key for entity in query.fetch()]
    for start in range(0, len(keys), 500):
        client.delete_multi(keys[start : start + 500])


def stored(client: datastore.Client) -> dict[tuple[Any, ...], bytes]:
    """Return all entities in the namespace of ``client`` as they are stored, by the key's path.

    Read with the stock API as messages: nothing between the server and here converts them.
    """
    query = client.query()
    query.keys_only()
    asked = [entity.key.to_protobuf() for entity in query.fetch()]
    entities = {}
    while asked:
        request = {"project_id": client.project, "keys": asked}
        response = client._datastore_api.lookup(request=request)
        for result in response.found:
            entity = result.entity._pb
            path = tuple((step.kind, step.id or step.name) for step in entity.key.path)
            # The order of properties is by chance; serialised so, equal messages are equal bytes.
            entities[path] = entity.SerializeToString(deterministic=True)
        asked = list(response.deferred)
    return entities


def environment_endpoint() -> Endpoint | None:
    """Return the server that the environment names, if it names one."""
    host = os.environ.get("DATASTORE_EMULATOR_HOST")
    return Endpoint(f"environment ({host})") if host else None


Client = datastore.Client

KIND = "Item"


def prepare(client: Client) -> None:
    """Store items 1 to 3, with properties of every type, and nothing else."""
    wipe(client)
    client.put_multi([fill(datastore.Entity(client.key(KIND, n)), n) for n in (1, 2, 3)])


def _first(client: Client) -> Any:
    return client.get(client.key(KIND, 1))


def _rewriting(change: Callable[[Any], object]) -> Callable[[Client], None]:
    def rewrite(client: Client) -> None:
        entity = _first(client)
        change(entity)
        client.put(entity)

    return rewrite


def another_key(client: Client) -> None:
    entity = _first(client)
    entity.key = client.key(KIND, "copied")
    client.put(entity)


def several(client: Client) -> None:
    entities = client.get_multi([client.key(KIND, n) for n in (1, 2, 3)])
    for entity in entities:
        entity["parity"] = entity["parity"].upper()
    client.put_multi(entities)


def found_by_a_query(client: Client) -> None:
    for entity in client.query(kind=KIND).fetch():
        entity["seen"] = True
        client.put(entity)


def in_a_batch(client: Client) -> None:
    entities = list(client.query(kind=KIND, order=["__key__"]).fetch())
    with client.batch() as batch:
        batch.put(entities[0])
        entities[1]["number"] = -1
        batch.put(entities[1])
        batch.delete(entities[2].key)


def changed_after_put_in_a_batch(client: Client) -> None:
    """A batch takes an entity as it is when it is put, not as it is at the end."""
    entity = _first(client)
    with client.batch() as batch:
        entity["number"] = 10
        batch.put(entity)
        entity["number"] = 20


def in_a_transaction(client: Client) -> None:
    with client.transaction():
        entity = _first(client)
        entity["number"] += 1
        client.put(entity)


def in_a_transaction_begun_later(client: Client) -> None:
    options = {"begin_later": True} if BEGINS_LATER else {}
    with client.transaction(**options):
        entity = _first(client)
        entity["inner"]["numbers"].append(3)
        client.put(entity)


def embedded_in_another(client: Client) -> None:
    other = datastore.Entity(client.key(KIND, "holder"), exclude_from_indexes=("one",))
    other["one"] = _first(client)
    other["many"] = client.get_multi([client.key(KIND, 2)])
    client.put(other)


def copied_into_another(client: Client) -> None:
    other = datastore.Entity(client.key(KIND, "copy"))
    other.update(_first(client))
    client.put(other)


def nested_moved_out(client: Client) -> None:
    """A nested entity becomes a separate one when it is given a key."""
    inner = _first(client)["inner"]
    inner.key = client.key(KIND, "moved out")
    client.put(inner)


def exchanged(client: Client) -> None:
    """Values move from one entity to another, and meanings stay behind."""
    first, second = sorted(
        client.get_multi([client.key(KIND, n) for n in (1, 2)]), key=lambda entity: entity.key.id
    )
    for name in ("inner", "meant", "list"):
        first[name], second[name] = second[name], first[name]
    client.put_multi([first, second])


def written_twice(client: Client) -> None:
    entity = _first(client)
    entity["number"] = 10
    client.put(entity)
    entity["text"] = "second time"
    client.put(entity)


REWRITES: dict[str, Callable[[Client], None]] = {
    **{name: _rewriting(change) for name, change in CHANGES.items()},
    **{
        rewrite.__name__: rewrite
        for rewrite in (
            *(another_key, several, found_by_a_query, written_twice, exchanged),
            *(in_a_batch, changed_after_put_in_a_batch),
            *(in_a_transaction, in_a_transaction_begun_later),
            *(embedded_in_another, copied_into_another, nested_moved_out),
        )
    },
}
