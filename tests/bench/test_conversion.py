from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore import Entity

import lazyentity
from lazyentity.bench import cases, conversion, run, sides
from lazyentity.bench.timing import Budget
from lazyentity.bench.verify import OutputMismatch

ONCE = Budget(seconds=0, min_rounds=1, max_rounds=1, sample_seconds=0)


@pytest.mark.parametrize("name", cases.select(tuple(cases.MIXES), (1, 5, 20), cases.READS))
def test_every_case_is_measured_with_equal_outputs(name: str) -> None:
    """Every kind of case decodes to the same on both sides, and gives a time for each."""
    case = cases.select(tuple(cases.MIXES), (1, 5, 20), cases.READS)[name]()
    line = conversion.measure(case, ONCE)
    assert (line.mix, line.properties, line.read) == (case.mix, case.properties, case.read)
    assert min(line.stock.median, line.lazy.median, line.upb_parse.median) > 0
    assert line.ratio.median == pytest.approx(line.stock.median / line.lazy.median)


def test_the_sides_are_what_they_claim() -> None:
    """One side makes stock entities, the other lazy ones, and eager() stock ones again."""
    (response,) = cases.case("mixed", 5, "1").responses
    kinds = [type(side.entities(response)[0]) for side in (sides.STOCK, sides.LAZY, sides.EAGER)]
    assert kinds == [Entity, lazyentity.LazyEntity, Entity]


@pytest.mark.parametrize("read", ["0", "1", "4", "half"])
def test_the_lazy_side_decodes_what_is_read(read: str) -> None:
    """While it is timed, the lazy side decodes the properties that are read and no others."""
    case = cases.case("mixed", 20, read)
    entities = conversion.tasks(case)["lazy"]()
    wanted = set(cases.names_read(cases.MIXES["mixed"], 20, read))
    assert all(set(lazyentity.decoded(entity)) == wanted for entity in entities)


def test_wrong_output_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lazy side that gives something else fails instead of being timed."""

    def wrong(entity_pb: Any) -> Entity:
        entity = sides.STOCK.from_protobuf(entity_pb)
        entity["text_000"] += "!"
        return entity

    monkeypatch.setattr(sides, "LAZY", sides.Side(sides.STOCK.deserialize, wrong))
    with pytest.raises(OutputMismatch, match="text_000"):
        conversion.measure(cases.case("mixed", 5, "1"), ONCE)


def test_a_patched_process_is_refused() -> None:
    """With lazyentity active there is no stock side to compare with."""
    lazyentity.patch()
    try:
        with pytest.raises(sides.PatchedProcess, match="datastore"):
            list(run.run([("decode", lambda: pytest.fail("measured"))], lambda _: None))
    finally:
        lazyentity.unpatch()
