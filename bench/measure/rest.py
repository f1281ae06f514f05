"""gcloud-aio-datastore: a query over HTTP to the loopback server, and the JSON of its answer."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

from gcloud.aio import datastore

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, sides, verify
from lazyentity.bench.harness.timing import Comparison
from lazyentity.patches.gcloud_aio.seams import CLIENT

ENTITIES, PROPERTIES = 300, 100
QUERY, READ = "a query", "1"
"""The name of the call, and the properties read of each entity: see `synthetic.names_read`."""

_TIMEOUT = 60


CONTEXTS = sides.contexts(CLIENT.patch)
"""The contexts in which the sides run."""


@contextlib.contextmanager
def loaded_server(entities: int, properties: int) -> Iterator[int]:
    """Start a server and load it; gives its port of HTTP."""
    with loopback.serving(synthetic.MIXES["mixed"].entities(entities, properties)) as served:
        yield served.server.http_port


def received(port: int) -> bytes:
    """The JSON of all entities that a server has stored."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    path = f"/v1/projects/{synthetic.PROJECT}:runQuery"
    query = json.dumps({"query": {"kind": [{"name": synthetic.KIND}]}})
    connection.request("POST", path, query, {"Content-Type": "application/json"})
    body = connection.getresponse().read()
    connection.close()
    return body


@contextlib.contextmanager
def _querying(port: int, entities: int) -> Iterator[Callable[[], Any]]:
    """Connect a client; gives a function that queries."""
    root = f"http://127.0.0.1:{port}/v1"
    query = datastore.Query(synthetic.KIND, limit=entities)

    async def connect() -> Any:
        return datastore.Datastore(project=synthetic.PROJECT, api_root=root)

    with asyncio.Runner() as runner:
        run = runner.get_loop().run_until_complete
        client = run(connect())
        yield lambda: run(client.runQuery(query, timeout=_TIMEOUT))
        run(client.close())


@contextlib.contextmanager
def loaded(entities: int, properties: int) -> Iterator[Comparison]:
    """Give the tasks of a query; a server answers while inside."""
    names = synthetic.names_read(synthetic.MIXES["mixed"], properties, READ)

    def check(stock_values: list[Any], lazy_values: list[Any]) -> None:
        verify.check_same(entities, len(stock_values), f"{QUERY}: entities")
        verify.check_same(stock_values, lazy_values, QUERY)

    with loaded_server(entities, properties) as port, _querying(port, entities) as query:

        def read() -> list[list[Any]]:
            found = [one.entity.properties for one in query().result_batch.entity_results]
            return [[values[name] for name in names] for values in found]

        yield Comparison(dict.fromkeys(CONTEXTS, read), check, CONTEXTS)
