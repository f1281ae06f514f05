"""The generated asyncio client: the same lazy responses, over the connection that it has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches.api.responses import RunQueryResponse
from tests.patches.conftest import Ports
from tests.patches.order_program import KIND
from tests.support.asynchronous import async_api
from tests.support.clients import PROJECT
from tests.support.describing import entity_types
from tests.support.snapshots import snapshot

Scenario = Callable[[Any], Awaitable[Any]]

_CLOSED_PORT = 1


def _key(number: int) -> datastore.Key:
    return datastore.Key(KIND, number, project=PROJECT)


def _lookup_request(*numbers: int) -> dict[str, Any]:
    return {"project_id": PROJECT, "keys": [_key(number).to_protobuf() for number in numbers]}


def _query_request(**options: Any) -> dict[str, Any]:
    query = {"kind": [{"name": KIND}], "order": [{"property": {"name": "__key__"}}], **options}
    return {"project_id": PROJECT, "query": query}


def _entities(results: Any) -> list[Any]:
    return [helpers.entity_from_protobuf(result.entity) for result in results]


async def _lookup(api: Any) -> Any:
    response = await api.lookup(request=_lookup_request(1, 2, 99))
    missing = [helpers.key_from_protobuf(result.entity.key) for result in response.missing]
    return _entities(response.found), missing, len(response.deferred)


async def _query(api: Any) -> Any:
    batch = (await api.run_query(request=_query_request())).batch
    return _entities(batch.entity_results), batch.end_cursor, int(batch.more_results)


async def _found(response: Awaitable[Any]) -> Any:
    return _entities((await response).found)


async def _results(response: Awaitable[Any]) -> Any:
    return _entities((await response).batch.entity_results)


READS: dict[str, Scenario] = {
    "lookup": _lookup,
    "lookup by fields": lambda api: _found(
        api.lookup(project_id=PROJECT, keys=_lookup_request(3)["keys"])
    ),
    "lookup by message": lambda api: _found(
        api.lookup(datastore_pb2.LookupRequest(_lookup_request(1)))
    ),
    "query": _query,
    "query of keys": lambda api: _results(
        api.run_query(_query_request(projection=[{"property": {"name": "__key__"}}]))
    ),
    "query with options": lambda api: _results(
        api.run_query(_query_request(limit=1, offset=1), timeout=60)
    ),
}


def run(ports: Ports, scenario: Scenario) -> Any:
    """Return the result of a scenario with a new client."""

    async def connected() -> Any:
        async with async_api(ports["grpc"]) as api:
            return await scenario(api)

    return asyncio.run(connected())


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("way", ["lazy", "eager()", "patch(eager=True)"])
def test_reads_are_those_of_stock(ports: Ports, read: Scenario, way: str) -> None:
    """Contents, keys, cursors, and what is missing; stock entities where these are asked for."""
    stock = run(ports, read)
    assert entity_types(stock) == {"Entity"}
    lazyentity.patch("datastore", eager=way.startswith("patch"))

    async def inside(api: Any) -> Any:
        with lazyentity.eager() if way == "eager()" else nullcontext():
            return await read(api)

    result = run(ports, inside)
    assert entity_types(result) == {"LazyEntity" if way == "lazy" else "Entity"}
    assert snapshot(_as_lists(result)) == snapshot(_as_lists(stock))


def _as_lists(result: Any) -> Any:
    return list(result) if isinstance(result, tuple) else result


def test_clients_made_before_and_after(ports: Ports) -> None:
    """A client is lazy while the process is patched, whenever it was made."""

    async def read(api: Any) -> Any:
        response = await api.run_query(_query_request())
        return type(response), entity_types(_entities(response.batch.entity_results))

    async def toggling(early: Any) -> list[Any]:
        seen = [await read(early)]
        lazyentity.patch("datastore")
        async with async_api(ports["grpc"]) as late:
            seen += [await read(early), await read(late)]
            lazyentity.unpatch()
            seen += [await read(early), await read(late)]
            lazyentity.patch("datastore")
            return [*seen, await read(early), await read(late)]

    lazy = RunQueryResponse, {"LazyEntity"}
    stock = datastore_pb2.RunQueryResponse, {"Entity"}
    assert run(ports, toggling) == [stock, lazy, lazy, stock, stock, lazy, lazy]
