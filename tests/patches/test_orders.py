"""Every order of importing, patching, unpatching, making a client and reading.

Also with two copies of lazyentity in one process, as ``del sys.modules[...]`` and reloaders leave
them, and with an instrumentor that wraps gRPC before the client is imported.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from tests.patches.conftest import Make, Ports
from tests.patches.order_program import read
from tests.support.clients import TRANSPORTS
from tests.support.forks import answer

_CLIENT = ("import client", "make client", "read")
_LAZYENTITY = (
    ("import lazyentity",),
    ("import lazyentity", "patch"),
    ("import lazyentity", "patch", "unpatch"),
    ("import lazyentity.auto",),
    ("import lazyentity.auto", "unpatch"),
)


def _interleavings(first: tuple[str, ...], second: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Give every sequence that takes the steps of both, each in its own order."""
    length = len(first) + len(second)
    for places in itertools.combinations(range(length), len(first)):
        steps = [iter(first), iter(second)]
        yield tuple(next(steps[place not in places]) for place in range(length))


ORDERS = [order for theirs in _LAZYENTITY for order in _interleavings(_CLIENT, theirs)]


def _expected_classes(order: tuple[str, ...]) -> list[str]:
    """Return the class of the entities of each read: lazy if patched at that time."""
    expected = []
    patched = False
    for step in order:
        if step in ("patch", "import lazyentity.auto"):
            patched = True
        elif step == "unpatch":
            patched = False
        elif step == "read":
            expected.append("LazyEntity" if patched else "Entity")
    return expected


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
def test_order(order: tuple[str, ...], ports: Ports, stock_contents: Any) -> None:
    """Reads are lazy exactly while patched, with stock's contents, over both transports.

    Read once more at the end: by a client that was made, and often used, before the last step.
    """
    steps = (*order, "read")
    reads = answer(
        *("-m", "tests.patches.order_program"),
        *(",".join(steps), str(ports["grpc"]), str(ports["http"])),
        warnings="error",
    )

    expected = _expected_classes(steps)
    assert len(reads) == len(expected) == 2
    for by_transport, name in zip(reads, expected, strict=True):
        assert by_transport.keys() == set(TRANSPORTS)
        for result in by_transport.values():
            assert result["classes"] == [name]
            assert result["contents"] == stock_contents


# Shorter ones are their beginnings, and each letter is followed by the checks.
WORDS = list(itertools.product("pu", repeat=4))


@pytest.mark.parametrize("word", WORDS, ids="".join)
def test_patching_and_unpatching_again_and_again(
    word: tuple[str, ...], make: Make, stock_contents: Any
) -> None:
    """After any sequence of patch() and unpatch() the last one counts, for clients of every age."""
    clients = [make()]
    for letter in word:
        if letter == "p":
            lazyentity.patch()
        else:
            lazyentity.unpatch()
        clients.append(make())
        name = "LazyEntity" if letter == "p" else "Entity"
        assert ("datastore" in lazyentity.patched()) == (letter == "p")
        for client in clients:
            result = read(client)
            assert result["classes"] == [name]
            assert result["contents"] == stock_contents


_COPIES = """
import importlib, json, sys
from tests.patches.order_program import KIND, read
from tests.support.clients import make_client
from tests.support.describing import describe

def copy():
    for name in list(sys.modules):
        if name.partition(".")[0] == "lazyentity":
            del sys.modules[name]
    return importlib.import_module("lazyentity")

def types_of_pages(client):
    return [type(page).__name__ for page in client.query(kind=KIND).fetch().pages]

ports, steps, eager = PORTS, STEPS, EAGER
clients = [make_client(port, transport) for transport, port in ports.items()]
copies, seen = {}, []
for step, number in steps:
    if number not in copies:
        copies[number] = copy()
        # The code that was imported goes on with its own copy.
        importlib.import_module("lazyentity.auto" if eager is None else "lazyentity.patches")
    if step == "patch":
        copies[number].patch(eager=eager)
    else:
        copies[number].unpatch()
    seen.append([copies[number].patched() != (), [read(client)["classes"] for client in clients]])
clients += [make_client(port, transport) for transport, port in ports.items()]
print(json.dumps({
    "copies": len(set(map(id, copies.values()))),
    "seen": seen,
    "reads": [read(client) for client in clients],
    "pages": [types_of_pages(client) for client in clients],
}))
"""

_BOTH = [("patch", 1), ("patch", 2), ("unpatch", 1), ("unpatch", 2)]
_ORDERS = [
    order
    for order in itertools.permutations(_BOTH)
    if all(order.index(("patch", each)) < order.index(("unpatch", each)) for each in (1, 2))
]
_LONGER = [[*_BOTH, *_BOTH], [*_BOTH, *reversed(_BOTH), *_BOTH[2:]], [_BOTH[0], *_BOTH, *_BOTH[2:]]]


@pytest.mark.parametrize("steps", [*_ORDERS, *_LONGER])
@pytest.mark.parametrize("eager", [True, None])
def test_both_are_unpatched(
    ports: Ports, stock_contents: Any, steps: Any, eager: bool | None
) -> None:
    """Then all reads are stock, of clients made before as of those made after."""
    program = _COPIES.replace("PORTS", repr(ports)).replace("STEPS", repr([*steps]))
    result = answer("-c", program.replace("EAGER", repr(eager)), warnings="ignore")
    assert result["copies"] == 2
    first, *_, last = result["seen"]
    assert first == [True, [["Entity"] if eager else ["LazyEntity"]] * 2]
    assert last == [False, [["Entity"]] * 2]
    for found in result["reads"]:
        assert (found["classes"], found["contents"]) == (["Entity"], stock_contents)
    assert {name for names in result["pages"] for name in names} == {"Page"}


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
        stock, lazy = (
            answer("-c", program.replace("ACTIVATE", activate), warnings="ignore")
            for activate in ("", "import lazyentity.auto")
        )
    assert stock == {"names": [*["Commit", "Lookup", "RunQuery"] * 3, "Commit"], "type": "Entity"}
    assert lazy == {**stock, "type": "LazyEntity"}
