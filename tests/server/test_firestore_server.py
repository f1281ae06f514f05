"""The loopback server of documents, through the stock client."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from typing import Any

import pytest

firestore: Any = pytest.importorskip("google.cloud.firestore")

from google.api_core import exceptions  # noqa: E402  # after the look for the client
from google.auth.credentials import AnonymousCredentials  # noqa: E402  # as above

from lazyentity.bench.server.process import LoopbackServer  # noqa: E402  # as above


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with LoopbackServer(firestore=True) as server:
        yield server.grpc_port


@pytest.fixture
def things(port: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A collection in a project of its own."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{port}")
    project = f"p{abs(hash(request.node.name))}"
    client = firestore.Client(project=project, credentials=AnonymousCredentials())
    yield client.collection("things")
    client.close()


def _ids(query: Any) -> list[str]:
    return [snapshot.id for snapshot in query.stream()]


def _filter(*condition: Any) -> Any:
    return firestore.FieldFilter(*condition)


def test_values_and_paths_come_back(things: Any) -> None:
    """Of every type; a mask selects fields inside maps, and names that need quotes."""
    reference = things.document("a")
    value = {
        "null": None,
        "list": [1, "two", {"x": True}],
        "at": datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc),
        "where": firestore.GeoPoint(1.0, -2.0),
        "map": {"one": 1, "a-b": 2},
        "self": reference,
    }
    reference.set(value)
    assert reference.get().to_dict() == value
    assert reference.get(["map.one"]).to_dict() == {"map": {"one": 1}}
    assert reference.get(["map.`a-b`", "missing"]).to_dict() == {"map": {"a-b": 2}}
    assert [one.to_dict() for one in things.select(["null"]).stream()] == [{"null": None}]
    assert not things.document("b").get().exists
    assert [one.id for one in things.list_documents()] == ["a"]


def test_types_have_one_order(things: Any) -> None:
    """An inequality finds values of its type alone."""
    when = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    values = [None, False, True, float("nan"), -1, 0.5, 2, when, "a", "b", b"\xff", [1], {"x": 1}]
    for number, value in enumerate(values):
        things.document(f"{number:02}").set({"v": value})
    every = [f"{number:02}" for number in range(len(values))]
    assert _ids(things.order_by("v")) == every
    assert _ids(things.order_by("v", direction="DESCENDING")) == every[::-1]
    assert _ids(things.where(filter=_filter("v", ">", 0))) == ["05", "06"]
    assert _ids(things.where(filter=_filter("v", "<=", "a"))) == ["08"]
    assert _ids(things.where(filter=_filter("v", "in", [2, None, "b"]))) == ["00", "06", "09"]
    assert _ids(things.where(filter=_filter("v", "array_contains", 1))) == ["11"]
    assert _ids(things.where(filter=_filter("v", "==", None))) == ["00"]
    assert _ids(things.where(filter=_filter("v", "==", float("nan")))) == ["03"]
    assert _ids(things.order_by("v").start_after({"v": 2}).limit(2)) == ["07", "08"]
    assert _ids(things.order_by("v").offset(1).end_before({"v": -1})) == ["01", "02", "03"]


def test_transforms_and_preconditions(things: Any) -> None:
    reference = things.document("a")
    reference.create({"n": 1, "list": [1], "map": {"n": 5}})
    with pytest.raises(exceptions.AlreadyExists):
        reference.create({})
    reference.update(
        {
            "n": firestore.Increment(1.5),
            "map.n": firestore.Maximum(3),
            "map.at": firestore.SERVER_TIMESTAMP,
            "list": firestore.ArrayUnion([1, 2]),
        }
    )
    found = reference.get()
    changed = found.to_dict()
    assert changed["map"].pop("at") == found.update_time
    assert changed == {"n": 2.5, "list": [1, 2], "map": {"n": 5}}
    reference.update({"list": firestore.ArrayRemove([1]), "n": firestore.DELETE_FIELD})
    assert reference.get().to_dict().keys() == {"list", "map"}
    with pytest.raises(exceptions.NotFound):
        things.document("missing").update({"n": 1})
    stale = things._client.write_option(last_update_time=found.update_time)
    with pytest.raises(exceptions.FailedPrecondition):
        reference.delete(stale)
    reference.delete()
    assert not reference.get().exists


def test_listeners_see_changes(things: Any) -> None:
    seen: list[list[str]] = []
    arrived = threading.Event()

    def note(snapshots: Any, changes: Any, read_time: Any) -> None:
        seen.append([snapshot.id for snapshot in snapshots])
        if len(seen) > 1:
            arrived.set()

    things.document("a").set({})
    watch = things.on_snapshot(note)
    while not seen:
        arrived.wait(0.01)
    things.document("b").set({})
    assert arrived.wait(30)
    watch.unsubscribe()
    assert seen[-1] == ["a", "b"]
