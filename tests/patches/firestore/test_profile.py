"""The profile counts the documents that arrive, and the fields of them that are read."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import lazyentity
from tests.patches.firestore.conftest import Make
from tests.patches.firestore.describing import described
from tests.patches.firestore.server import DocumentServer
from tests.patches.firestore.sides import SIDES

FIELDS = {"number": 1, "text": "text", "map": {"a": [1]}}


def _report(profile: Any) -> Any:
    (kind,) = json.loads(profile.json())["kinds"]
    return kind


@pytest.mark.parametrize("kind", SIDES)
def test_documents_are_counted(kind: type[Any], make_side: Make, server: DocumentServer) -> None:
    side = make_side(kind)
    for number in range(4):
        server.put(f"things/{number}", FIELDS)
    lazyentity.patch("firestore", strict=True)
    with lazyentity.profile() as profile:
        found = side.all(side.client.collection("things").stream)
        for snapshot in found:
            assert snapshot.get("number") == 1
            assert snapshot.get("map.a") == [1]
        assert described(found[0].to_dict()) == described(FIELDS)
    told = _report(profile)
    assert told["kind"] == "things"
    assert told["entities"] == 4
    counts = {each["name"]: each for each in told["properties"]}
    assert sorted(counts) == ["map", "number", "text"]
    assert {each["received"] for each in counts.values()} == {4}
    assert {name: each["decoded"] for name, each in counts.items()} == {
        "map": 5,
        "number": 5,
        "text": 1,
    }
    # Outside of it nothing is counted.
    found[1].to_dict()
    assert _report(profile) == told


def test_data_counts_as_all_fields(client: Any, server: DocumentServer) -> None:
    """As cursors and comparisons read it; a copy of a snapshot has its count."""
    server.put("things/1", FIELDS)
    lazyentity.patch("firestore", strict=True)
    with lazyentity.profile() as profile:
        (snapshot,) = client.collection("things").stream()
        assert snapshot == copy.deepcopy(snapshot)
    told = _report(profile)
    assert {each["decoded"] for each in told["properties"]} == {2}
