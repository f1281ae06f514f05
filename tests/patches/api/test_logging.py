"""The client's own logging of RPCs, which asks the responses for their JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore_v1.services.datastore.transports import grpc as grpc_transport

import lazyentity
from tests.patches.conftest import Make
from tests.patches.order_program import COUNT, KIND, read
from tests.support.subprocesses import answer

Client = datastore.Client


class _Records(logging.Handler):
    """Keeps its records."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record)

    def responses(self, rpc: str) -> list[Any]:
        """Return the payloads of the responses to ``rpc`` that were logged, parsed."""
        return [
            json.loads(vars(record)["response"]["payload"])
            for record in self.kept
            if hasattr(record, "response") and record.rpcName.endswith(f"/{rpc}")  # type: ignore[attr-defined]  # as above
        ]


@pytest.fixture
def records() -> Iterator[_Records]:
    """The records of the ``google`` logger, set to DEBUG as its documentation says."""
    logger = logging.getLogger("google")
    handler = _Records()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.setLevel(level)
    logger.removeHandler(handler)


@pytest.mark.skipif(
    not hasattr(grpc_transport, "_LoggingClientInterceptor"),
    reason="google-cloud-datastore logs RPCs since 2.21",
)
@pytest.mark.parametrize("transport", ["grpc"])
class TestLogging:
    """Over gRPC; the client logs nothing of RPCs over HTTP."""

    def test_reads_are_lazy_and_right(
        self, client: Client, records: _Records, stock_contents: Any
    ) -> None:
        lazyentity.patch()
        result = read(client)
        assert result["classes"] == ["LazyEntity"]
        assert result["contents"] == stock_contents
        assert len(records.responses("Lookup")) == 2
        assert len(records.responses("RunQuery")) == 1

    def test_the_payloads_are_those_of_the_stock_client(
        self, client: Client, records: _Records
    ) -> None:
        """All of the response is logged, entities included, as without the patch."""
        read(client)
        stock = {rpc: records.responses(rpc) for rpc in ("Lookup", "RunQuery")}
        records.kept.clear()
        lazyentity.patch()
        read(client)
        lazy = {rpc: records.responses(rpc) for rpc in ("Lookup", "RunQuery")}

        results = [
            *stock["Lookup"][0]["found"],
            *stock["RunQuery"][0]["batch"]["entityResults"],
        ]
        assert len(results) == 1 + COUNT
        assert all(result["entity"]["properties"]["number"] for result in results)
        for logged in (*stock["Lookup"], *stock["RunQuery"], *lazy["Lookup"], *lazy["RunQuery"]):
            logged.pop("readTime", None)
            logged.get("batch", {}).pop("readTime", None)
        assert lazy == stock

    @pytest.mark.parametrize("eager", [False, True])
    def test_nothing_else_is_logged(self, make: Make, records: _Records, eager: bool) -> None:
        """A new client and its reads log the lines of the stock client, and no other."""

        def logged(prepare: Any = lambda client: client) -> list[tuple[str, str]]:
            records.kept.clear()
            read(prepare(make()))
            return [(record.name, record.getMessage()) for record in records.kept]

        stock = logged()
        assert any("Created client" in text for _, text in stock)
        lazyentity.patch(eager=eager)
        assert logged() == stock
        lazyentity.unpatch()
        assert logged(lazyentity.wrap) == stock

    def test_writes_are_logged_too(self, make: Make, records: _Records) -> None:
        """Writing a lazy entity back logs the message that the stock client would send."""
        lazyentity.patch()
        client = make(namespace="logged")
        stored = datastore.Entity(client.key(KIND, 1))
        stored["a"] = 1
        client.put(stored)
        entity = client.get(stored.key)
        entity["b"] = 2
        records.kept.clear()
        client.put(entity)
        (request,) = [
            json.loads(vars(record)["request"]["payload"])
            for record in records.kept
            if hasattr(record, "request")
        ]
        (mutation,) = request["mutations"]
        assert mutation["upsert"]["properties"].keys() == {"a", "b"}


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
