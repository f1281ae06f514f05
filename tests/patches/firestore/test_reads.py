"""Everything that reads gives what the stock client gives, with either kind of client."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity
from tests.patches.firestore.describing import described, is_lazy, outcome
from tests.patches.firestore.reading import READS, fill
from tests.patches.firestore.server import DocumentServer
from tests.support.concurrency import together

WAYS = ["lazy", "eager()", "patch(eager=True)", "wrap()", "wrap(eager=True)"]


@contextlib.contextmanager
def _reading(side: Any, way: str) -> Iterator[None]:
    """Read in one of the ways that an application has."""
    stock = side.client
    if way.startswith("wrap"):
        side.client = lazyentity.wrap(stock, eager="eager" in way)
    else:
        lazyentity.patch("firestore", strict=True, eager=way == "patch(eager=True)")
    try:
        with lazyentity.eager() if way == "eager()" else contextlib.nullcontext():
            yield
    finally:
        side.client = stock
        lazyentity.unpatch("firestore")


def _renamed(told: Any) -> Any:
    """Return an outcome with names in place of types: a wrapped client has another type."""
    if isinstance(told, dict):
        return {name: _renamed(each) for name, each in told.items()}
    if isinstance(told, (list, tuple)):
        return [_renamed(each) for each in told]
    return told.__qualname__ if isinstance(told, type) else told


@pytest.mark.parametrize("name", READS)
def test_same_results(name: str, side: Any, server: DocumentServer) -> None:
    """In each way, and between two of them again with the stock client."""

    def result() -> Any:
        server.clear()
        fill(server)
        return outcome(lambda: READS[name](side)), list(server.calls)

    expected = result()
    assert expected[0][0] in (list, tuple), expected
    for way in WAYS:
        with _reading(side, way):
            found = result()
        assert found == expected or (
            # References say the type of their client.
            way.startswith("wrap") and _renamed(found) == _renamed(expected)
        ), way
        assert result() == expected, way


@pytest.mark.parametrize("way", WAYS)
def test_fields_are_decoded_on_demand(way: str, side: Any, server: DocumentServer) -> None:
    """In eager modes at once; either way they are stock snapshots by type.

    Only reads that are sent meanwhile: the client sends some before and some after.
    """
    fill(server)

    def read() -> set[bool]:
        things = side.client.collection("things")
        found = [
            *side.all(things.stream),
            side.one(things.document("01").get),
            *side.all(side.client.collection_group("parts").stream),
        ]
        assert len(found) == 12 + 1 + 3
        return set(map(is_lazy, found))

    assert read() == {False}
    with _reading(side, way):
        assert read() == {"eager" not in way}
    assert read() == {False}


def test_a_stream_over_the_end_of_the_patch(side: Any, server: DocumentServer) -> None:
    """Responses that arrived, and those to come, become snapshots."""
    fill(server)
    lazyentity.patch("firestore", strict=True)
    things = side.client.collection("things").order_by("number")
    found = side.all(things.stream, lazyentity.unpatch)
    assert [each.to_dict()["number"] for each in found] == list(range(12))


def test_a_stream_over_the_end_of_eager(side: Any, server: DocumentServer) -> None:
    """The mode is that of the moment at which the RPC is sent."""
    fill(server)
    lazyentity.patch("firestore", strict=True)
    things = side.client.collection("things")
    with lazyentity.eager():
        stream = things.stream()
        first = side.next(stream)
    assert not any(map(is_lazy, [first, *side.all(lambda: stream)]))
    assert all(map(is_lazy, side.all(things.stream)))


def test_threads_read_and_patch(
    client: Any, server: DocumentServer, frequent_switches: None
) -> None:
    """Threads get separate dicts and the same ``_data``, whatever happens to the patch."""
    fill(server)
    # Of threads that use a client first, each makes a channel, and all but one are closed again.
    assert client.document("things/01").get().exists
    expected = set(range(12))

    def work(number: int) -> Any:
        if number == 0:
            for _ in range(30):
                lazyentity.patch("firestore", strict=True)
                lazyentity.unpatch()
            return expected
        for _ in range(10):
            found = {each.to_dict()["number"] for each in client.collection("things").stream()}
            assert found == expected
        return found

    assert together(3, work) == [expected] * 3
    lazyentity.patch("firestore", strict=True)
    for _ in range(20):
        snapshot = client.document("things/07").get()
        dicts = together(4, lambda _: snapshot.to_dict())  # noqa: B023
        data = together(4, lambda _: snapshot._data)  # noqa: B023
        assert len(set(map(id, dicts))) == 4
        assert len(set(map(id, data))) == 1
        assert all(each == data[0] for each in dicts)


def test_a_profile_counts_documents(side: Any, server: DocumentServer) -> None:
    """Those that arrive, and the fields of them that are read."""
    fields = {"number": 1, "text": "text", "map": {"a": [1]}}
    for number in range(4):
        server.put(f"things/{number}", fields)
    lazyentity.patch("firestore", strict=True)
    with lazyentity.profile() as profile:
        found = side.all(side.client.collection("things").stream)
        for snapshot in found:
            assert snapshot.get("number") == 1
            assert snapshot.get("map.a") == [1]
        assert described(found[0].to_dict()) == described(fields)
        # Cursors and comparisons read all fields, once.
        assert found[3] == copy.deepcopy(found[3])
    (told,) = json.loads(profile.json())["kinds"]
    assert (told["kind"], told["entities"]) == ("things", 4)
    assert {each["received"] for each in told["properties"]} == {4}
    counts = {each["name"]: each["decoded"] for each in told["properties"]}
    assert counts == {"map": 4, "number": 4, "text": 2}
    # Outside of it nothing is counted.
    found[1].to_dict()
    assert json.loads(profile.json())["kinds"] == [told]
