"""Loopback servers that tests of several packages start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from lazyentity.bench import loopback
from lazyentity.bench.server.process import LoopbackServer

SMALL_BATCH: Final = 3
SMALL_LOOKUP: Final = 2


def in_small_batches() -> LoopbackServer:
    """Return a server, not started, that answers with few results at a time."""
    return LoopbackServer(batch_size=SMALL_BATCH, lookup_limit=SMALL_LOOKUP)


@pytest.fixture(scope="session")
def _idle() -> Iterator[list[LoopbackServer]]:
    servers: list[LoopbackServer] = []
    yield servers
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def kept_servers(_idle: list[LoopbackServer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers without options are taken over, empty, from earlier tests.

    A benchmark has a server for each of its lines. Starting it takes longer than a small line.
    """
    start, stop = LoopbackServer.__enter__, LoopbackServer.__exit__

    def take(server: LoopbackServer) -> LoopbackServer:
        if server._options or not _idle:
            return start(server)
        vars(server).update(vars(_idle.pop()))
        return server

    def give_back(server: LoopbackServer, *raised: Any) -> None:
        if server._options or raised[0] is not None:
            stop(server, *raised)
            return
        with loopback.client(server.grpc_port) as client:
            query = client.query()
            query.keys_only()
            keys = [entity.key for entity in query.fetch()]
            for first in range(0, len(keys), 500):
                client.delete_multi(keys[first : first + 500])
        _idle.append(server)

    monkeypatch.setattr(LoopbackServer, "__enter__", take)
    monkeypatch.setattr(LoopbackServer, "__exit__", give_back)
