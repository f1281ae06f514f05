from __future__ import annotations

import pytest
from google.cloud.datastore import Entity

import lazyentity
from lazyentity.bench import run
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides
from lazyentity.bench.harness.verify import OutputMismatch
from lazyentity.bench.subjects import conversion
from tests.support.benchmarks import ONCE


@pytest.mark.parametrize(
    "name", decoding.select(tuple(synthetic.MIXES), (1, 5, 20), synthetic.READS)
)
def test_every_case_is_measured_with_equal_outputs(name: str) -> None:
    """Every kind of case decodes to the same on both sides, and gives a time for each."""
    case = decoding.select(tuple(synthetic.MIXES), (1, 5, 20), synthetic.READS)[name]()
    line = conversion.measure(case, ONCE)
    assert (line.mix, line.properties, line.read) == (case.mix, case.properties, case.read)
    assert min(line.stock.median, line.lazy.median, line.upb_parse.median) > 0
    assert line.ratio.median == pytest.approx(line.stock.median / line.lazy.median)


def test_the_sides_are_what_they_claim() -> None:
    """One side makes stock entities, the other lazy ones; eager or materialized, stock ones."""
    (response,) = decoding.case("mixed", 5, "1").responses
    made = (sides.STOCK, sides.LAZY, sides.EAGER, sides.MATERIALIZED)
    kinds = [type(side.entities(response)[0]) for side in made]
    assert kinds == [Entity, lazyentity.LazyEntity, Entity, Entity]


@pytest.mark.parametrize("read", ["0", "1", "4", "half"])
def test_the_lazy_side_decodes_what_is_read(read: str) -> None:
    """While it is timed, the lazy side decodes the properties that are read and no others."""
    case = decoding.case("mixed", 20, read)
    entities = conversion.comparison(case).tasks["lazy"]()
    wanted = set(synthetic.names_read(synthetic.MIXES["mixed"], 20, read))
    assert all(set(lazyentity.decoded(entity)) == wanted for entity in entities)


@pytest.mark.usefixtures("wrong_lazy_side")
def test_wrong_output_is_no_result() -> None:
    """A lazy side that gives something else fails instead of being timed."""
    with pytest.raises(OutputMismatch, match="text_000"):
        conversion.measure(decoding.case("mixed", 5, "1"), ONCE)


def test_a_patched_process_is_refused() -> None:
    """With lazyentity active there is no stock side to compare with."""
    lazyentity.patch()
    try:
        with pytest.raises(sides.PatchedProcess, match="datastore"):
            list(run.run([("decode", lambda: pytest.fail("measured"))], lambda _: None))
    finally:
        lazyentity.unpatch()
