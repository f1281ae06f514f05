"""Loopback servers that tests of several packages start."""

from __future__ import annotations

from typing import Final

from lazyentity.bench.server.process import LoopbackServer

SMALL_BATCH: Final = 3
SMALL_LOOKUP: Final = 2


def in_small_batches() -> LoopbackServer:
    """Return a server, not started, that answers with few results at a time."""
    return LoopbackServer(batch_size=SMALL_BATCH, lookup_limit=SMALL_LOOKUP)
