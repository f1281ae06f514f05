"""Reads of other things than documents: pipelines, partitions of queries, bundles and listeners."""

from __future__ import annotations

import datetime
import json
import queue
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.cloud import firestore
from google.cloud.firestore_bundle import FirestoreBundle
from google.cloud.firestore_v1.types import firestore as types
from google.protobuf.timestamp_pb2 import Timestamp

import lazyentity
from lazyentity.patches.firestore import listeners
from tests.patches.firestore.conftest import EMULATOR_HOST, Make
from tests.patches.firestore.describing import described, is_lazy, outcome
from tests.patches.firestore.reading import WHEN, fill
from tests.patches.firestore.server import DocumentServer, serving
from tests.patches.firestore.sides import SIDES

NAME = "projects/p/databases/(default)/documents/things"
SECONDS, NANOS = 1_704_164_645, 678_901_234


def _pipeline(request: Any, context: Any) -> Iterator[Any]:
    """Answer with two documents, and a result that is none."""
    when = Timestamp(seconds=SECONDS, nanos=NANOS)
    for number in range(2):
        response = types.ExecutePipelineResponse()
        response._pb.execution_time.CopyFrom(when)
        document = response._pb.results.add(name=f"{NAME}/{number}", update_time=when)
        document.fields["number"].integer_value = number
        document.fields["when"].timestamp_value.CopyFrom(when)
        document.fields["map"].map_value.fields["a"].reference_value = f"{NAME}/x"
        yield response
    response = types.ExecutePipelineResponse()
    response._pb.results.add().fields["count"].integer_value = 2
    yield response


@pytest.fixture
def pipelines_port() -> Iterator[int]:
    """The port of a server of pipelines."""
    handlers: dict[str, Any] = {
        "ExecutePipeline": grpc.unary_stream_rpc_method_handler(
            _pipeline, response_serializer=lambda response: response._pb.SerializeToString()
        )
    }
    with serving(handlers) as port:
        yield port


def _told(result: Any) -> Any:
    times = result.create_time, result.update_time
    data = result.data()
    values = [outcome(lambda name=name: result.get(name)) for name in ("when", "map.a", "nope")]  # type: ignore[misc]
    return described([result.id, result.ref, *times, data]), values


@pytest.mark.skipif(
    not hasattr(firestore.Client, "pipeline"), reason="this version has no pipelines"
)
@pytest.mark.parametrize("kind", SIDES)
def test_pipelines(
    kind: type[Any], make_side: Make, pipelines_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their results keep nanoseconds, which copied results have lost."""
    monkeypatch.setenv(EMULATOR_HOST, f"127.0.0.1:{pipelines_port}")
    side = make_side(kind, database="(default)")

    def execute() -> list[Any]:
        return list(side.one(side.client.pipeline().collection("things").execute))

    stock = list(map(_told, execute()))
    assert len(stock) == 3
    assert execute()[0].data()["when"].nanosecond == NANOS
    lazyentity.patch("firestore", strict=True)
    assert list(map(_told, execute())) == stock
    with lazyentity.eager():
        assert list(map(_told, execute())) == stock


def test_partitions(side: Any, server: DocumentServer) -> None:
    """The queries of partitions read lazily, each its documents."""
    fill(server)
    server.documents = dict(sorted(server.documents.items()))
    group = side.client.collection_group("parts")
    lazy: set[bool] = set()

    def read() -> Any:
        lazy.clear()
        partitions = [each.query() for each in side.all(lambda: group.get_partitions(3))]
        found = [side.all(query.order_by("__name__").stream) for query in partitions]
        lazy.update(is_lazy(snapshot) for several in found for snapshot in several)
        return [[described(each.to_dict()) for each in several] for several in found]

    stock = read()
    assert sum(map(len, stock)) == 3
    assert len(stock) > 1
    assert lazy == {False}
    lazyentity.patch("firestore", strict=True)
    assert read() == stock
    assert lazy == {True}


def test_bundles(side: Any, server: DocumentServer) -> None:
    """A bundle of lazy snapshots, and of a query, is that of stock ones."""
    is_blocking = isinstance(side.client, firestore.Client)
    references = [side.client.document(f"things/{name}") for name in ("01", "02")]

    def built() -> Any:
        server.clear()
        fill(server)
        bundle = FirestoreBundle("one")
        for snapshot in side.all(lambda: side.client.get_all(references)):
            snapshot.read_time = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
            bundle.add_document(snapshot)
        if is_blocking:
            query = side.client.collection("things").order_by("number").limit(4)
            bundle.add_named_query("first", query)
        return bundle.build()

    stock = built()
    lazyentity.patch("firestore", strict=True)
    assert _elements(built()) == _elements(stock)
    # Each document comes after its metadata; two of the query's are there before.
    assert len(_elements(stock)) == (1 + 4 * 2 if is_blocking else 4)


def _elements(text: str) -> list[Any]:
    """Return the elements of a bundle but its first one, which has the time of now."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        # Each comes after its length.
        at = text.index("{", at)
        element, at = decoder.raw_decode(text, at)
        found.append(element)
    return found[1:]


def _events(client: Any, server: DocumentServer, of: Callable[[Any], Any]) -> Any:
    """Listen while documents change; return everything told of each event."""
    server.clear()
    for number in range(4):
        server.put(f"things/{number}", {"number": number, "when": WHEN, "map": {"a": [number]}})
    events: queue.Queue[Any] = queue.Queue()

    def called(documents: Any, changes: Any, read_time: Any) -> None:
        told = [(change.type.name, change.old_index, change.new_index) for change in changes]
        events.put((told, [described(document)[1][3:] for document in documents]))

    listener = of(client).on_snapshot(called)
    found = [events.get(timeout=60)]
    things = client.collection("things")
    changes: list[Callable[[], Any]] = [
        lambda: things.document("1").set({"number": 7, "more": [{"b": None}]}),
        lambda: things.document("1").update({"number": -1}),
        lambda: things.document("1").delete(),
    ]
    for change in changes:
        change()
        found.append(events.get(timeout=60))
    listener.unsubscribe()
    return found


LISTEN: dict[str, Callable[[Any], Any]] = {
    "a document": lambda client: client.document("things/1"),
    "a query": lambda client: client.collection("things").order_by("number"),
    "a collection": lambda client: client.collection("things"),
}


@pytest.mark.parametrize("of", LISTEN.values(), ids=LISTEN)
def test_same_events(
    of: Callable[[Any], Any], client: Any, server: DocumentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first load, a change, a change of the order and a removal."""
    stock = _events(client, server, of)
    seen = []
    decode = listeners._decoded

    def decoded(*args: Any) -> Any:
        seen.append(decode(*args))
        return seen[-1]

    monkeypatch.setattr(listeners, "_decoded", decoded)
    lazyentity.patch("firestore", strict=True)
    assert _events(client, server, of) == stock
    assert seen
    assert None not in seen
