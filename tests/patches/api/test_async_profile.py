"""A profile of reads by the generated asyncio client."""

from __future__ import annotations

import asyncio
from typing import Any

from google.cloud import datastore
from google.cloud.datastore import helpers

import lazyentity
from tests.patches.conftest import Ports
from tests.patches.order_program import COUNT, KIND
from tests.support.asynchronous import async_api
from tests.support.clients import PROJECT


async def _query(api: Any) -> list[Any]:
    request = {"project_id": PROJECT, "query": {"kind": [{"name": KIND}]}}
    results = (await api.run_query(request=request)).batch.entity_results
    return [helpers.entity_from_protobuf(result.entity) for result in results]


async def _lookup(api: Any) -> list[Any]:
    key = datastore.Key(KIND, 1, project=PROJECT).to_protobuf()
    results = (await api.lookup(request={"project_id": PROJECT, "keys": [key]})).found
    return [helpers.entity_from_protobuf(result.entity) for result in results]


def test_reads_of_tasks(ports: Ports) -> None:
    """Entities count at the line that converts them, in each profile that runs meanwhile."""
    lazyentity.patch("datastore")

    async def read() -> tuple[Any, Any]:
        async with async_api(ports["grpc"]) as api:
            with lazyentity.profile() as outer:
                await _lookup(api)
                with lazyentity.profile() as inner:
                    several = await asyncio.gather(*(_query(api) for _ in range(3)))
                    for entity in several[0]:
                        entity["number"]
        return outer.report(), inner.report()

    outer, inner = asyncio.run(read())
    assert [(kind.kind, kind.entities) for kind in outer.kinds] == [(KIND, 3 * COUNT + 1)]
    (kind,) = inner.kinds
    assert (kind.kind, kind.entities, kind.properties_decoded) == (KIND, 3 * COUNT, COUNT)
    first = _query.__code__.co_firstlineno
    (reads,) = inner.sites
    assert reads.site.file == __file__
    assert reads.site.line == first + 3
    assert len(outer.sites) == 2
