"""Stock clients of the loopback server, and loading it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

from lazyentity.bench.entities import PROJECT
from lazyentity.bench.server.process import LoopbackServer

_PUT_AT_ONCE = 100


@contextlib.contextmanager
def client(grpc_port: int) -> Iterator[datastore.Client]:
    """A stock client of the loopback server, over gRPC, whose connection is closed at the end."""
    # Under the emulator variable the client makes credentials itself and refuses any given.
    credentials = None
    if GCD_HOST not in os.environ:
        credentials = AnonymousCredentials()
    made = datastore.Client(project=PROJECT, credentials=credentials, _use_grpc=True)
    made.base_url = f"http://127.0.0.1:{grpc_port}"
    try:
        yield made
    finally:
        made._datastore_api.transport.grpc_channel.close()


@dataclass(frozen=True)
class Served:
    """A running server, the keys that it stores, and stock clients of it."""

    server: LoopbackServer
    keys: list[datastore.Key]
    clients: tuple[datastore.Client, ...]


@contextlib.contextmanager
def serving(entities: Sequence[datastore.Entity], clients: int = 1) -> Iterator[Served]:
    """Start a server, store entities, and connect stock clients."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(LoopbackServer())
        made = tuple(stack.enter_context(client(server.grpc_port)) for _ in range(clients))
        yield Served(server, store(made[0], entities), made)


def store(to: datastore.Client, entities: Sequence[datastore.Entity]) -> list[datastore.Key]:
    """Store the entities through the client ``to``; returns their keys."""
    for start in range(0, len(entities), _PUT_AT_ONCE):
        to.put_multi(entities[start : start + _PUT_AT_ONCE])
    return [entity.key for entity in entities]
