"""The profile counts the documents that arrive, and the fields of them that are read."""

from __future__ import annotations

import copy
import json
from typing import Any

import lazyentity
from tests.patches.firestore.describing import described
from tests.patches.firestore.server import DocumentServer

FIELDS = {"number": 1, "text": "text", "map": {"a": [1]}}


def _report(profile: Any) -> Any:
    (kind,) = json.loads(profile.json())["kinds"]
    return kind


def test_documents_are_counted(side: Any, server: DocumentServer) -> None:
    for number in range(4):
        server.put(f"things/{number}", FIELDS)
    lazyentity.patch("firestore", strict=True)
    with lazyentity.profile() as profile:
        found = side.all(side.client.collection("things").stream)
        for snapshot in found:
            assert snapshot.get("number") == 1
            assert snapshot.get("map.a") == [1]
        assert described(found[0].to_dict()) == described(FIELDS)
        # Cursors and comparisons read all fields; a copy of a snapshot has its count.
        assert found[3] == copy.deepcopy(found[3])
    told = _report(profile)
    assert (told["kind"], told["entities"]) == ("things", 4)
    assert {each["received"] for each in told["properties"]} == {4}
    counts = {each["name"]: each["decoded"] for each in told["properties"]}
    assert counts == {"map": 7, "number": 7, "text": 3}
    # Outside of it nothing is counted.
    found[1].to_dict()
    assert _report(profile) == told
