"""datastore-async, a client on the generated asyncio client, reads lazily and as it does stock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from unittest import mock

import pytest
from google.auth.credentials import AnonymousCredentials

import lazyentity
from tests.patches.conftest import Ports
from tests.patches.order_program import KIND
from tests.support.asynchronous import async_api
from tests.support.clients import PROJECT
from tests.support.describing import entity_types
from tests.support.snapshots import Raised, outcome, snapshot

datastore_async = pytest.importorskip(
    "datastore_async", reason="needs the newest google-cloud-datastore"
)

Scenario = Callable[[Any], Awaitable[Any]]


@asynccontextmanager
async def _client(ports: Ports, namespace: str | None) -> AsyncIterator[Any]:
    # It makes an API object with default credentials, for the real service.
    credentials = AnonymousCredentials()
    with mock.patch("google.auth.default", return_value=(credentials, PROJECT)):
        client = datastore_async.AsyncClient(
            project=PROJECT, namespace=namespace, credentials=credentials
        )
    await client._datastore_api_async.transport.close()
    async with async_api(ports["grpc"]) as api:
        client._datastore_api_async = api
        yield client


def _run(ports: Ports, scenario: Scenario, namespace: str | None = None) -> Any:
    async def connected() -> Any:
        async with _client(ports, namespace) as client:
            return await scenario(client)

    return asyncio.run(connected())


def _keys(client: Any, *numbers: int) -> list[Any]:
    return [client.key(KIND, number) for number in numbers]


async def _all_of(query: Any, **options: Any) -> list[Any]:
    return [entity async for entity in query.fetch(**options)]


def _ordered(client: Any, **options: Any) -> Any:
    return client.query(kind=KIND, order=["__key__"], **options)


async def _get_absent(client: Any) -> Any:
    missing: list[Any] = []
    return [await client.get_async(*_keys(client, 99), missing=missing), missing]


async def _get_multi(client: Any) -> Any:
    missing: list[Any] = []
    deferred: list[Any] = []
    keys = _keys(client, 99, 2, 1)
    return [await client.get_multi_async(keys, missing=missing, deferred=deferred), missing]


def _query(client: Any) -> Any:
    return _all_of(_ordered(client))


async def _query_in_parts(client: Any) -> Any:
    iterator = _ordered(client).fetch(limit=2)
    first = [entity async for entity in iterator]
    cursor = iterator.next_page_token
    return [first, cursor, await _all_of(_ordered(client), start_cursor=cursor, offset=1)]


async def _aggregation(client: Any) -> Any:
    aggregation = client.aggregation_query(_ordered(client)).count("n").sum("number", "total")
    results = [result async for result in aggregation.fetch()]
    return [[(one.alias, one.value) for one in several] for several in results]


READS: dict[str, Scenario] = {
    "get": lambda client: client.get_async(*_keys(client, 1)),
    "get of nothing": _get_absent,
    "get_multi": _get_multi,
    "parts": _query_in_parts,
    "a bad cursor": lambda client: _all_of(_ordered(client), start_cursor="bm8gY3Vyc29y"),
    "aggregation": _aggregation,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads(ports: Ports, read: Scenario) -> None:
    stock = outcome(lambda: _run(ports, read))
    lazyentity.patch("datastore")
    lazy = outcome(lambda: _run(ports, read))
    assert entity_types(lazy) == ({"LazyEntity"} if entity_types(stock) else set())
    if isinstance(stock, Raised):
        assert lazy.kind is stock.kind
        return
    assert snapshot(lazy) == snapshot(stock)

    async def inside(client: Any) -> Any:
        with lazyentity.eager():
            return await read(client)

    eager = _run(ports, inside)
    assert entity_types(eager) == entity_types(stock)
    assert snapshot(eager) == snapshot(stock)
