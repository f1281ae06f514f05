"""Many tasks, and tasks that are cancelled, with gcloud-aio-datastore."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import lazyentity
from lazyentity.patches.rest.properties import LazyProperties
from tests.patches.conftest import Ports
from tests.patches.order_program import KIND
from tests.patches.rest.clients import Connected, RestClient, form
from tests.patches.rest.reads import entities_of
from tests.support.asynchronous import cancelled_at_each_turn, read_by_tasks

pytestmark = pytest.mark.any_backend

CLIENT = RestClient("gcloud-aio")
TASKS = 32


def _run(ports: Ports, work: Any) -> Any:
    with CLIENT.connected(ports["http"]) as call:
        return call.complete(work(call))


async def _query(call: Connected) -> list[Any]:
    return entities_of(await call.datastore.runQuery(CLIENT.package.Query(KIND)))


def test_tasks_that_read_the_same_entities(ports: Ports) -> None:
    """They see one object for each property, and stock's contents."""
    stock = _run(ports, _query)
    lazyentity.patch("gcloud-aio")

    async def read(call: Connected) -> Any:
        entities = await _query(call)

        return entities, await read_by_tasks([one.properties for one in entities], TASKS)

    entities, (first, *others) = _run(ports, read)
    for other in others:
        assert other.keys() == first.keys()
        assert all(other[place] is first[place] for place in first)
    assert form(entities) == form(stock)


def test_a_read_is_lazy_by_where_it_is_sent(ports: Ports) -> None:
    """Tasks inside ``eager()`` and others share a client."""
    lazyentity.patch("gcloud-aio")

    async def one(call: Connected, number: int) -> set[Any]:
        if number % 2:
            with lazyentity.eager():
                return {type(entity.properties) for entity in await _query(call)}
        return {type(entity.properties) for entity in await _query(call)}

    async def read(call: Connected) -> Any:
        return await asyncio.gather(*(one(call, number) for number in range(TASKS)))

    assert _run(ports, read) == [{LazyProperties}, {dict}] * (TASKS // 2)


def test_a_read_that_is_cancelled(ports: Ports) -> None:
    """At any moment; the client goes on working."""

    async def read(call: Connected) -> Any:
        return await cancelled_at_each_turn(lambda: _query(call)), form(await _query(call))

    stock_cancelled, stock = _run(ports, read)
    lazyentity.patch("gcloud-aio")
    cancelled, lazy = _run(ports, read)
    assert min(cancelled, stock_cancelled) > 0
    assert lazy == stock
