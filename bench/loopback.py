"""Stock clients of the loopback server, and loading it."""

from __future__ import annotations

import contextlib
import os
import unittest.mock
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

from lazyentity.bench.entities import PROJECT
from lazyentity.bench.server.process import LoopbackServer


def found(port: int, variable: str = GCD_HOST) -> AbstractContextManager[object]:
    """Have the clients that are made while inside find a server, without credentials."""
    return unittest.mock.patch.dict(os.environ, {variable: f"127.0.0.1:{port}"})


@contextlib.contextmanager
def client(grpc_port: int) -> Iterator[datastore.Client]:
    """A stock client of the loopback server, over gRPC, whose connection is closed at the end."""
    with found(grpc_port):
        made = datastore.Client(project=PROJECT, _use_grpc=True)
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
    to.put_multi(entities)
    return [entity.key for entity in entities]
