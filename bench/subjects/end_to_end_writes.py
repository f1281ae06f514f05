"""Read, change and write back through the client: calls as in `end_to_end`, without a floor."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from google.cloud import datastore

from lazyentity.bench.cases import synthetic, wire
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.lines import EndToEnd
from lazyentity.bench.harness.timing import Budget, Comparison, Task
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.bench.subjects import floor
from lazyentity.bench.subjects.end_to_end import timed_reads

CALL = "get_multi, put_multi"

Stored = list[datastore.Entity]


def _writing(client: datastore.Client, stored: Stored, name: str, reads: bool) -> Task:
    """Change one property of each entity, and write them; returns the change."""
    turns = itertools.count(1)
    keys = [entity.key for entity in stored]

    def change_and_write() -> str:
        value = f"change {next(turns)}"
        entities = client.get_multi(keys) if reads else stored
        for entity in entities:
            entity[name] = value
        client.put_multi(entities)
        return value

    return change_and_write


@contextlib.contextmanager
def loaded(entities: int, properties: int, reads: bool = True) -> Iterator[Comparison]:
    """Start a server, load it, and connect two clients that change one property, and put.

    ``reads`` is whether they read the entities first; else they write those of the caller.

    Each side has entities of its own, in its own namespace, and returns the changes that it made,
    with which the stored entities are compared.
    """
    mix = synthetic.MIXES["mixed"]
    (name,) = synthetic.names_read(mix, properties, "1")

    def stored(side: str) -> Stored:
        made = [mix.entity(properties, number) for number in range(entities)]
        for entity in made:
            entity.key = datastore.Key(
                *entity.key.flat_path, project=synthetic.PROJECT, namespace=side
            )
        return made

    with contextlib.ExitStack() as stack:
        port = stack.enter_context(LoopbackServer(trusting=True)).grpc_port
        stock, lazy, bare = (stack.enter_context(loopback.client(port)) for _ in range(3))
        clients = {"stock": stock, "lazy": lazy}
        keys = {side: loopback.store(stock, stored(side)) for side in clients}
        transport = floor.answer_in_bytes(bare)

        def check_side(side: str, value: str) -> None:
            expected = stored(side)
            for entity in expected:
                entity[name] = value
            bare.get_multi(keys[side])
            verify.check_messages(
                [sides.to_bytes(entity) for entity in expected], wire.entities_of(transport.raw)
            )

        def check(stock_value: str, lazy_value: str) -> None:
            check_side("stock", stock_value)
            check_side("lazy", lazy_value)

        yield Comparison(
            tasks={
                side: _writing(client, stored(side), name, reads)
                for side, client in clients.items()
            },
            check=check,
            contexts=sides.CONTEXTS,
        )


def measure(entities: int, properties: int, budget: Budget) -> EndToEnd:
    """Time reading ``entities`` entities, changing one property of each, and writing them back."""
    with loaded(entities, properties) as call:
        return timed_reads(call, budget, CALL, entities, properties, "0", changed=1)
