"""Everything that reads gives what the stock client gives, with either kind of client."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import firestore

import lazyentity
from tests.patches.firestore.describing import described, outcome
from tests.patches.firestore.reading import READS, fill
from tests.patches.firestore.server import DocumentServer

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
    """In eager modes at once; either way they are stock snapshots by type."""
    fill(server)
    with _reading(side, way):
        things = side.client.collection("things")
        found = [
            *side.all(things.stream),
            side.one(things.document("01").get),
            *side.all(side.client.collection_group("parts").stream),
        ]
    assert len(found) == 12 + 1 + 3
    assert {type(each) for each in found} == {firestore.DocumentSnapshot}
    assert {"_data" in vars(each) for each in found} == {"eager" in way}


def test_a_query_goes_on_after_a_failure(side: Any, server: DocumentServer) -> None:
    """The client asks again for those after the last snapshot, whose fields it then needs."""
    fill(server)

    def result() -> Any:
        server.calls.clear()
        server.unavailable_after = 5
        query = side.client.collection("things").order_by("number")
        return outcome(lambda: [each.id for each in side.all(query.stream)]), len(server.calls)

    expected = result()
    with _reading(side, "lazy"):
        assert result() == expected


@pytest.mark.parametrize("aborts", [2, 9])
def test_a_transaction_that_is_retried(aborts: int, side: Any, server: DocumentServer) -> None:
    """It reads anew each time; after the last one the error is the client's."""
    fill(server)
    reference = side.client.document("things/03")
    runs: list[Any] = []

    def work(transaction: Any) -> list[Any]:
        runs.append(transaction)
        transaction.update(reference, {"number": len(runs)})
        return []

    def read(transaction: Any) -> list[Any]:
        found = [side.client.get_all([reference], transaction=transaction)]
        runs.append(transaction)
        return found

    def result() -> Any:
        runs.clear()
        server.clear()
        fill(server)
        server.aborts = aborts
        written = outcome(lambda: side.in_transaction(work))
        server.aborts = aborts
        return (
            *(written, outcome(lambda: side.in_transaction(read))),
            *(len(runs), list(server.calls), side.one(reference.get).to_dict()["number"]),
        )

    expected = result()
    assert expected[2] > 2
    with _reading(side, "lazy"):
        assert result() == expected


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
