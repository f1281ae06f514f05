"""The generated asyncio client of a server on this machine, and tasks that read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.cloud.datastore_v1.services.datastore.async_client import DatastoreAsyncClient
from google.cloud.datastore_v1.services.datastore.transports.grpc_asyncio import (
    DatastoreGrpcAsyncIOTransport,
)


@asynccontextmanager
async def async_api(grpc_port: int) -> AsyncIterator[DatastoreAsyncClient]:
    """Give a stock client, whose connection is closed in the end."""
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port}")
    try:
        yield DatastoreAsyncClient(transport=DatastoreGrpcAsyncIOTransport(channel=channel))
    finally:
        await channel.close()


async def cancelled_at_each_turn(read: Callable[[], Awaitable[Any]]) -> int:
    """Begin a read again and again, and cancel it later each time; return how often it was.

    Args:
        read: begins it.
    """
    cancelled = 0
    for turns in range(12):
        reading = asyncio.ensure_future(read())
        for _ in range(turns):
            await asyncio.sleep(0)
        if reading.cancel():
            with pytest.raises(asyncio.CancelledError):
                await reading
            cancelled += 1
    return cancelled


async def read_by_tasks(dicts: Sequence[Mapping[Any, Any]], count: int) -> list[dict[Any, Any]]:
    """Read all values of ``dicts`` in as many tasks, which take turns; return what each saw.

    Args:
        dicts: entities, or the properties of some.
        count: of the tasks, each of which begins with another value.
    """

    async def work(number: int) -> dict[Any, Any]:
        seen = {}
        for place, values in enumerate(dicts):
            names = list(values)
            for position in range(len(names)):
                name = names[(position + number) % len(names)]
                seen[place, name] = values[name]
                await asyncio.sleep(0)
        return seen

    return await asyncio.gather(*map(work, range(count)))
