"""Interceptors of the application see the requests of bulk calls as those of the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport

import lazyentity
from lazyentity.bulk import delete_many, get_many, put_many
from tests.bulk.services import Served, connected

pytestmark = pytest.mark.any_backend


class _Recorder(grpc.UnaryUnaryClientInterceptor):
    def __init__(self) -> None:
        self.projects: list[str] = []

    def intercept_unary_unary(self, send: Callable[..., Any], details: Any, request: Any) -> Any:
        self.projects.append(request.project_id)
        return send(details, type(request)(request))


@pytest.mark.parametrize("is_patched", [False, True])
def test_requests_are_messages(running: Served, is_patched: bool) -> None:
    recorder = _Recorder()
    with connected(running) as client:
        channel = grpc.intercept_channel(client._datastore_api.transport.grpc_channel, recorder)
        transport = DatastoreGrpcTransport(channel=channel)
        client._datastore_api_internal = DatastoreClient(transport=transport)
        if is_patched:
            lazyentity.patch("datastore")
        try:
            keys = [client.key("Intercepted", number) for number in (1, 2)]
            put_many(client, [datastore.Entity(key) for key in keys])
            assert [entity.key for entity in get_many(client, keys)] == keys
            delete_many(client, keys)
        finally:
            lazyentity.unpatch()
    assert recorder.projects == [client.project] * 3
