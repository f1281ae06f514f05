"""The client's own logging of RPCs, which asks the responses for their JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud.datastore_v1.services.datastore.transports import grpc as grpc_transport

from tests.patches.conftest import Make
from tests.patches.datastore.activations import ACTIVATIONS, LAZILY, Activate
from tests.patches.order_program import COUNT, KIND, read
from tests.support.subprocesses import answer


@pytest.fixture
def google_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The records of the ``google`` logger, set to DEBUG as its documentation says."""
    with caplog.at_level(logging.DEBUG, "google"):
        yield caplog


def _told(record: logging.LogRecord) -> Any:
    """Return everything that a record tells but versions and times, which differ."""
    payloads = []
    for kind in ("request", "response"):
        logged = vars(record).get(kind)
        payload = None if logged is None else json.loads(logged["payload"])
        if payload is not None:
            for part in (payload, payload.get("batch", {}), *payload.get("mutationResults", [])):
                for name in ("readTime", "commitTime", "updateTime", "version", "snapshotVersion"):
                    part.pop(name, None)
        payloads.append(payload)
    return record.name, record.getMessage(), vars(record).get("metadata"), payloads


@pytest.mark.skipif(
    not hasattr(grpc_transport, "_LoggingClientInterceptor"),
    reason="google-cloud-datastore logs RPCs since 2.21",
)
@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("transport", ["grpc"])
def test_records_are_those_of_the_stock_client(
    make: Make, google_log: pytest.LogCaptureFixture, stock_contents: Any, activate: Activate
) -> None:
    """All requests and responses, entities included, and nothing else, of reads and writes.

    Over gRPC; the client logs nothing of RPCs over HTTP.
    """

    def logged(activate: Activate) -> Any:
        google_log.clear()
        client = activate(make())
        result = read(client)
        assert result["contents"] == stock_contents
        entity = client.get(client.key(KIND, 1))
        entity.key = client.key("Logged", 1)
        client.put(entity)
        return result["classes"], list(map(_told, google_log.records))

    _, stock = logged(lambda client: client)
    assert any("Created client" in text for _, text, _, _ in stock)
    responses = [response for *_, (_, response) in stock if response]
    found = [result for response in responses for result in response.get("found", ())]
    queried = [response["batch"] for response in responses if "batch" in response]
    results = [*found, *(result for batch in queried for result in batch["entityResults"])]
    assert len(results) == 1 + COUNT + COUNT + 1
    assert all(result["entity"]["properties"]["number"] for result in results)
    (commit,) = [request for *_, (request, _) in stock if request and "mutations" in request]
    assert "number" in commit["mutations"][0]["upsert"]["properties"]
    classes, lazy = logged(activate)
    assert lazy == stock
    assert classes == ["LazyEntity" if activate in LAZILY else "Entity"]


def test_switched_on_from_the_environment(ports: dict[str, int], stock_contents: Any) -> None:
    """With GOOGLE_SDK_PYTHON_LOGGING_SCOPE=google everything is logged, and reads go on working."""
    result = answer(
        "-c",
        f"""
import io, json, sys
import lazyentity.auto
from tests.support.clients import make_client
from tests.patches.order_program import read
sys.stderr = io.StringIO()
print(json.dumps(read(make_client({ports["grpc"]}, "grpc"))))
""",
        GOOGLE_SDK_PYTHON_LOGGING_SCOPE="google",
    )
    assert result["classes"] == ["LazyEntity"]
    assert result["contents"] == stock_contents
