"""Servers that the tests talk to, as values that other processes understand as well.

Imports nothing of lazyentity: the process that stays stock imports this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.cloud import datastore

from tests.support.clients import PROJECT, make_client


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
