"""The generated asyncio client of a server on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
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
