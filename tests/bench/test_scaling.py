from __future__ import annotations

from typing import Any

import pytest

from lazyentity.bench.harness.lines import UNITS, Growing
from lazyentity.bench.harness.timing import Budget, Timed
from lazyentity.bench.harness.verify import OutputMismatch
from lazyentity.bench.subjects import conversion

pytestmark = pytest.mark.any_backend

TWICE = Budget(seconds=0, min_rounds=2, max_rounds=2, sample_seconds=0)


@pytest.mark.parametrize("with_stock", [False, True])
@pytest.mark.parametrize(
    ("growing", "shapes"), [("properties", [(1, 10), (1, 30)]), ("entities", [(10, 10), (30, 10)])]
)
def test_one_response_grows(
    growing: Growing, shapes: list[tuple[int, int]], with_stock: bool
) -> None:
    """Each size is one response of that many properties or entities, with a time for each side."""
    line = conversion.measure_scaling(growing, (10, 30), with_stock, TWICE)
    assert line.growing == growing
    assert [(point.entities, point.properties) for point in line.points] == shapes
    first, second = line.points
    assert second.wire_bytes > 2 * first.wire_bytes
    assert min(first.lazy.median, second.lazy.median) > 0
    assert [point.stock is not None for point in line.points] == [with_stock] * 2


def test_growth_compares_the_cost_of_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response of three times the size that takes six times as long has a growth of two."""

    def made_up(tasks: dict[str, Any], _budget: Budget) -> dict[str, Any]:
        timed = {name: Timed(task, [0.001, 0.001], task()) for name, task in tasks.items()}
        timed["lazy 30"].seconds[:] = [0.006, 0.006]
        return timed

    monkeypatch.setattr(conversion, "interleave", made_up)
    first, second = conversion.measure_scaling("entities", (10, 30), True, TWICE).points
    assert first.growth is None
    assert second.growth is not None
    assert second.growth.median == pytest.approx(2)
    assert first.lazy.median == pytest.approx(100)
    assert second.lazy.median == pytest.approx(200)


@pytest.mark.usefixtures("wrong_lazy_side")
@pytest.mark.parametrize("growing", UNITS)
def test_wrong_output_is_no_result(growing: Growing) -> None:
    """A lazy side that gives something else fails instead of being timed."""
    with pytest.raises(OutputMismatch, match="text_000"):
        conversion.measure_scaling(growing, (10,), False, TWICE)
