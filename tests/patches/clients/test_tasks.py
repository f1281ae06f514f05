"""Tasks that share a client of asyncio: each has lazy reads or stock ones, and may be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import lazyentity
from lazyentity.patches.clients import ClientName
from tests.conftest import INSTALLED
from tests.patches.conftest import Ports
from tests.patches.order_program import COUNT, KIND
from tests.support.asynchronous import async_api, cancelled_at_each_turn, read_by_tasks
from tests.support.clients import PROJECT
from tests.support.describing import entity_types
from tests.support.snapshots import snapshot

TASKS = 32

Query = Callable[[], Awaitable[list[Any]]]
"""Gives all entities."""

Work = Callable[[Query], Awaitable[Any]]


def _datastore(ports: Ports, work: Work) -> Any:
    from google.cloud.datastore import helpers

    async def connected() -> Any:
        async with async_api(ports["grpc"]) as api:

            async def query() -> list[Any]:
                request = {"project_id": PROJECT, "query": {"kind": [{"name": KIND}]}}
                results = (await api.run_query(request=request)).batch.entity_results
                return [helpers.entity_from_protobuf(result.entity) for result in results]

            return await work(query)

    return asyncio.run(connected())


def _gcloud_aio(ports: Ports, work: Work) -> Any:
    from tests.patches.rest.clients import RestClient
    from tests.patches.rest.reads import entities_of

    client = RestClient("gcloud-aio")
    with client.connected(ports["http"]) as call:

        async def query() -> list[Any]:
            found = await call.datastore.runQuery(client.package.Query(KIND))
            return entities_of(found)

        return call.complete(work(query))


CLIENTS: dict[ClientName, Callable[[Ports, Work], Any]] = {
    "datastore": _datastore,
    "gcloud-aio": _gcloud_aio,
}
"""Run work with a client that is connected meanwhile."""

pytestmark = pytest.mark.parametrize("subject", [name for name in CLIENTS if name in INSTALLED])


def _mappings(subject: str, found: list[Any]) -> list[Any]:
    return found if subject == "datastore" else [entity.properties for entity in found]


def _kinds(subject: str, found: list[Any]) -> set[str]:
    if subject == "datastore":
        return entity_types(found)
    return {type(entity.properties).__name__ for entity in found}


KINDS = {"datastore": ("LazyEntity", "Entity"), "gcloud-aio": ("LazyProperties", "dict")}
"""The types of lazy results, and of stock ones."""


def _form(subject: str, found: list[Any]) -> Any:
    from tests.patches.rest.clients import form

    return snapshot(found) if subject == "datastore" else form(found)


def test_tasks_that_read_the_same_entities(subject: ClientName, ports: Ports) -> None:
    """They see one object for each property, and stock's contents."""
    stock = CLIENTS[subject](ports, lambda query: query())
    assert len(stock) == COUNT
    lazyentity.patch(subject)

    async def read(query: Query) -> Any:
        found = await query()
        return found, await read_by_tasks(_mappings(subject, found), TASKS)

    found, (first, *others) = CLIENTS[subject](ports, read)
    for other in others:
        assert other.keys() == first.keys()
        assert all(other[place] is first[place] for place in first)
    assert _form(subject, found) == _form(subject, stock)


def test_a_read_is_lazy_by_where_it_is_sent(subject: ClientName, ports: Ports) -> None:
    """Tasks inside ``eager()`` and others share a client."""
    lazyentity.patch(subject)

    async def one(query: Query, number: int) -> set[str]:
        if number % 2:
            with lazyentity.eager():
                return _kinds(subject, await query())
        return _kinds(subject, await query())

    async def read(query: Query) -> Any:
        return await asyncio.gather(*(one(query, number) for number in range(TASKS)))

    lazy, stock = KINDS[subject]
    assert CLIENTS[subject](ports, read) == [{lazy}, {stock}] * (TASKS // 2)


def test_a_read_that_is_cancelled(subject: ClientName, ports: Ports) -> None:
    """At any moment; the client goes on working."""

    async def read(query: Query) -> Any:
        return await cancelled_at_each_turn(query), _form(subject, await query())

    stock_cancelled, stock = CLIENTS[subject](ports, read)
    lazyentity.patch(subject)
    cancelled, lazy = CLIENTS[subject](ports, read)
    assert min(cancelled, stock_cancelled) > 0
    assert lazy == stock
