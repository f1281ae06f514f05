"""An instrumentor that wraps gRPC before the client is imported sees every call."""

from __future__ import annotations

import pytest

from lazyentity.bench.server.process import LoopbackServer
from tests.support.forks import answer

_TRACED = """
import json
ACTIVATE
from opentelemetry import trace
from opentelemetry.instrumentation.grpc import GrpcInstrumentorClient
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
GrpcInstrumentorClient().instrument()

from google.cloud import datastore
from tests.support.clients import make_client

client = make_client(PORT, "grpc")
key = client.key("Traced", 1)
for _ in range(3):
    client.put(datastore.Entity(key))
    found = client.get(key)
    fetched = list(client.query(kind="Traced").fetch())
client.delete(key)
names = [span.name.rpartition("/")[2] for span in exporter.get_finished_spans()]
print(json.dumps({"names": names, "type": type(found).__name__}))
"""


def test_every_call_has_a_span() -> None:
    """The spans are those without lazyentity, which does not import the client early."""
    pytest.importorskip("opentelemetry.instrumentation.grpc")
    with LoopbackServer() as server:
        program = _TRACED.replace("PORT", str(server.grpc_port))
        stock = answer("-c", program.replace("ACTIVATE", ""), warnings="ignore")
        lazy = answer(
            "-c", program.replace("ACTIVATE", "import lazyentity.auto"), warnings="ignore"
        )
    assert stock == {"names": [*["Commit", "Lookup", "RunQuery"] * 3, "Commit"], "type": "Entity"}
    assert lazy == {**stock, "type": "LazyEntity"}
