"""gcloud-aio-datastore: a query over HTTP to the loopback server, and the conversion alone."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

from gcloud.aio import datastore

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import loopback, verify
from lazyentity.bench.harness.lines import EndToEnd
from lazyentity.bench.harness.timing import Budget, Context, Task
from lazyentity.bench.measure.command import Benchmark
from lazyentity.bench.subjects.end_to_end import Loaded, timed_reads
from lazyentity.patches.gcloud_aio.seams import CLIENT
from lazyentity.patches.rest.properties import mark_response
from lazyentity.patches.rest.raw import parsed_but_properties

ENTITIES, PROPERTIES = 300, 100
QUERY, CONVERSION, JSON_CONVERSION = (
    "a query",
    "conversion of parsed JSON",
    "parsing and conversion of JSON",
)
CASES = {QUERY: "1", CONVERSION: "4", JSON_CONVERSION: "4"}
"""The timed steps, and the properties read of each entity: see `synthetic.names_read`."""

_TIMEOUT = 60


@contextlib.contextmanager
def patched() -> Iterator[None]:
    """Patch the client while inside."""
    CLIENT.patch.apply()
    try:
        yield
    finally:
        CLIENT.patch.revert()


_CONTEXTS: dict[str, Context] = {"stock": contextlib.nullcontext, "lazy": patched}


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
    loop = asyncio.new_event_loop()
    root = f"http://127.0.0.1:{port}/v1"

    async def connect() -> Any:
        return datastore.Datastore(project=synthetic.PROJECT, api_root=root)

    client = loop.run_until_complete(connect())
    query = datastore.Query(synthetic.KIND, limit=entities)
    yield lambda: loop.run_until_complete(client.runQuery(query, timeout=_TIMEOUT))
    loop.run_until_complete(client.close())
    loop.close()


def _results(case: str, port: int, stack: contextlib.ExitStack, entities: int) -> dict[str, Task]:
    """The functions of both sides that give the result of a query."""
    if case == QUERY:
        return dict.fromkeys(_CONTEXTS, stack.enter_context(_querying(port, entities)))
    body = received(port)
    convert = datastore.QueryResult.from_repr
    if case == JSON_CONVERSION:
        return {
            "stock": lambda: convert(json.loads(body)),
            "lazy": lambda: convert(parsed_but_properties(body)),
        }
    data, marked = json.loads(body), mark_response(json.loads(body))
    return {"stock": lambda: convert(data), "lazy": lambda: convert(marked)}


@contextlib.contextmanager
def loaded(case: str, entities: int, properties: int) -> Iterator[Loaded]:
    """Give the tasks of one of `CASES`; a server answers while inside.

    Raises:
        KeyError: there is no such case.
    """
    names = synthetic.names_read(synthetic.MIXES["mixed"], properties, CASES[case])

    def reading(result: Callable[[], Any]) -> Task:
        def read() -> list[list[Any]]:
            found = [one.entity.properties for one in result().result_batch.entity_results]
            return [[values[name] for name in names] for values in found]

        return read

    def check(stock_values: list[Any], lazy_values: list[Any]) -> None:
        verify.check_same(entities, len(stock_values), f"{case}: entities")
        verify.check_same(stock_values, lazy_values, case)

    with contextlib.ExitStack() as stack:
        port = stack.enter_context(loaded_server(entities, properties))
        results = _results(case, port, stack, entities)
        tasks = {side: reading(result) for side, result in results.items()}
        yield Loaded(tasks, check, _CONTEXTS)


def measure(case: str, entities: int, properties: int, budget: Budget) -> EndToEnd:
    """Time one of `CASES`.

    Raises:
        verify.OutputMismatch: the sides differ.
        KeyError: there is no such case.
    """
    with loaded(case, entities, properties) as tasks:
        return timed_reads(tasks, budget, case, entities, properties, CASES[case])


BENCHMARK = Benchmark(
    lambda run: (
        measure(case, ENTITIES, PROPERTIES, run.budget) for case in CASES if run.only in case
    ),
    Budget(seconds=10, min_rounds=9, max_rounds=200, sample_seconds=0.02),
)
