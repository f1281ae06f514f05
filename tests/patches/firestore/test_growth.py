"""No shape of a document makes a read or a write slower than the stock client's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lazyentity
from lazyentity.bench import firestore_growth as growth

RESULTS = Path(__file__).parents[3] / "bench" / "results" / "firestore-growth.json"


def test_the_committed_results_are_within_the_bounds() -> None:
    """``python -m lazyentity.bench.firestore_growth FILE`` measures anew."""
    found = json.loads(RESULTS.read_text("utf-8"))
    assert growth.beyond(found) == []
    shapes = {shape for shape, _ in growth.shapes()}
    assert {name: set(ratios) for name, ratios in found.items() if name != "writes"} == {
        name: shapes for name in found if name != "writes"
    }
    assert found["writes"].keys() == growth.writes().keys()


@pytest.mark.parametrize("is_lazy", [False, True])
def test_what_is_measured(is_lazy: bool) -> None:
    """Both sides read the same."""
    fields = {"a": 1, "b": {"c": [1, "text"]}}
    raw = growth._response(fields)
    if is_lazy:
        lazyentity.patch("firestore", strict=True)
    snapshot = growth._snapshot(raw)
    assert ("_data" not in vars(snapshot)) is is_lazy
    values = [*fields.values()]
    found = [read(snapshot) for read in growth._reads(fields).values()]
    assert found == [fields, values, values, None]
    batch = growth._CLIENT.batch()
    for write in growth.writes().values():
        write(batch)
    assert len(batch._write_pbs) == len(growth.writes())
