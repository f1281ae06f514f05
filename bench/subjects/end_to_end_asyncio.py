"""A query through the generated asyncio client, over a real channel to the loopback server.

The steps around the call are those of the libraries on that client: one request for each page, and
the client's own conversion of each entity.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import grpc
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.services.datastore.async_client import DatastoreAsyncClient
from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)
from google.cloud.datastore_v1.types import query as query_types

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.lines import EndToEnd
from lazyentity.bench.harness.timing import SIDES, Budget, Comparison
from lazyentity.bench.subjects.end_to_end import READ, timed_reads

CALL = "asyncio query"


async def _query(api: Any, limit: int) -> list[Any]:
    entities: list[Any] = []
    cursor = b""
    while True:
        query = query_types.Query(
            kind=[{"name": synthetic.KIND}], limit=limit - len(entities), start_cursor=cursor
        )
        # A dict with a message in it, as the client's own iterators send it.
        request = {"project_id": synthetic.PROJECT, "query": query}
        batch = (await api.run_query(request=request)).batch
        entities += [helpers.entity_from_protobuf(result.entity) for result in batch.entity_results]
        if batch.more_results != query_types.QueryResultBatch.MoreResultsType.NOT_FINISHED:
            return entities
        cursor = batch.end_cursor


async def _connect(port: int) -> Any:
    channel = grpc.aio.insecure_channel(
        f"127.0.0.1:{port}", options=[("grpc.max_receive_message_length", -1)]
    )
    return DatastoreAsyncClient(transport=DatastoreGrpcAsyncIOTransport(channel=channel))


@contextlib.contextmanager
def loaded(entities: int, properties: int, tasks: int = 1) -> Iterator[Comparison]:
    """Start a server, load it, and connect a client, which both sides use.

    ``tasks`` is how many queries run at once.
    """
    mix = synthetic.MIXES["mixed"]
    (name,) = synthetic.names_read(mix, properties, READ)
    with contextlib.ExitStack() as stack:
        served = stack.enter_context(loopback.serving(mix.entities(entities, properties)))
        loop = asyncio.new_event_loop()
        stack.callback(loop.close)
        api = loop.run_until_complete(_connect(served.server.grpc_port))
        stack.callback(lambda: loop.run_until_complete(api.transport.close()))

        async def read() -> list[Any]:
            every = await asyncio.gather(*(_query(api, entities) for _ in range(tasks)))
            return [entity[name] for one in every for entity in one]

        def check(stock_values: list[Any], lazy_values: list[Any]) -> None:
            verify.check_same(tasks * entities, len(stock_values), f"{CALL}: entities")
            verify.check_same(stock_values, lazy_values, f"{CALL}: [{name!r}]")

        yield Comparison(
            dict.fromkeys(SIDES, lambda: loop.run_until_complete(read())), check, sides.CONTEXTS
        )


def measure(entities: int, properties: int, budget: Budget) -> EndToEnd:
    """Time a query of ``entities`` entities, one property read of each."""
    with loaded(entities, properties) as call:
        return timed_reads(call, budget, CALL, entities, properties, READ)
