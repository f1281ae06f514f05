"""gcloud-aio-datastore: a query over HTTP, and the JSON of its answer."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from gcloud.aio import datastore

from lazyentity.bench import loopback, sides, verify
from lazyentity.bench.entities import KIND, MIXES, PROJECT, names_read
from lazyentity.bench.harness import PER_CALL, Case, Comparison, Plan
from lazyentity.patches.gcloud_aio.seams import CLIENT

_MIX = MIXES["mixed"]
_PATCHED = sides.patching(CLIENT.patch)
_TIMEOUT = 60


def cases(plan: Plan) -> Iterator[Case]:
    """A query, of whose entities one property or all are read."""
    for properties, read in ((20, "1"), (100, "1"), (100, "all")):
        make = functools.partial(_querying, 300, properties, read)
        yield Case("calls", "query", 300, properties, f"{read} read", PER_CALL, make)


@contextlib.contextmanager
def _querying(entities: int, properties: int, read: str) -> Iterator[Comparison]:
    names = names_read(_MIX, properties, read)
    query = datastore.Query(KIND, limit=entities)

    async def connect(root: str) -> Any:
        return datastore.Datastore(project=PROJECT, api_root=root)

    with (
        loopback.serving(_MIX.entities(entities, properties)) as served,
        asyncio.Runner() as runner,
    ):
        run = runner.get_loop().run_until_complete
        client = run(connect(f"http://127.0.0.1:{served.server.http_port}/v1"))

        def task() -> list[list[Any]]:
            results = run(client.runQuery(query, timeout=_TIMEOUT)).result_batch.entity_results
            found = [result.entity.properties for result in results]
            return [[values[name] for name in names] for values in found]

        def check(stock: list[Any], lazy: list[Any]) -> None:
            verify.check_same(entities, len(stock), "entities")
            verify.check_same(stock, lazy, "values")

        yield Comparison(task, task, check, _PATCHED)
        run(client.close())
