"""The benchmarks of packed documents and columns measure the same values on all sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lazyentity
from lazyentity.bench import run
from lazyentity.bench.cases import document
from lazyentity.bench.harness import processes, verify
from lazyentity.bench.harness.lines import Columns, ColumnsMemory, Packed
from lazyentity.bench.report import goals
from lazyentity.bench.subjects import columns_memory
from tests.bench.made import make_line
from tests.support.benchmarks import ONCE, bench

columnar = pytest.importorskip("lazyentity.bench.subjects.columnar")
packed = pytest.importorskip("lazyentity.bench.subjects.packed")


@pytest.mark.parametrize("use", packed.USES)
def test_packed(use: str) -> None:
    line = packed.measure(use, "10 KB", ONCE)
    assert (line.use, line.size, line.values) == (use, "10 KB", 19 * 24)
    assert 9_000 < line.embedded_bytes < 11_000
    assert line.packed_bytes < line.embedded_bytes / 4
    assert min(line.stock.median, line.lazy.median, line.packed.median) > 0


def test_packed_finds_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "unpack", lambda _: {})
    with pytest.raises(verify.OutputMismatch, match="of packed is not the one that was stored"):
        packed.measure("read", "10 KB", ONCE)


@pytest.mark.parametrize("source", columnar.SOURCES)
def test_columns(source: str) -> None:
    line = columnar.measure(source, ONCE)
    assert (line.source, line.entities, line.properties, line.names) == (source, 200, 60, 6)
    ways = line.stock, line.lazy, line.columns, line.lists, line.entities_alone
    assert min(way.median for way in ways) > 0


def test_columns_of_each_type() -> None:
    """The six properties are of the six types."""
    assert len({name.partition("_")[0] for name in columnar.names()}) == 6


def test_memory_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured in one process, not in two; the peak of this process is of all of its tests."""
    measure = processes.measure

    def measured(function: Any, counts: tuple[int, ...], rounds: int) -> dict[int, list[float]]:
        assert function is columns_memory.peak
        (numbers,) = measure(function, counts[1:], rounds).values()
        return dict.fromkeys(counts, numbers)

    monkeypatch.setattr(processes, "measure", measured)
    line = columns_memory.measure(200, 1)
    assert line.entities == 200
    assert 10 < line.few.median < 1000
    assert line.ratio.median == 1
    assert len(list(columns_memory.entities(3))) == 3
    assert columns_memory.peak(2) > 10


def test_documents_of_other_sizes() -> None:
    """The usual document has all of its groups; a smaller one is its beginning."""
    whole = document.make()
    assert document.values_of(960) == document.VALUES
    assert [len(group) for group in document.make(40).values()] == [32, 8]
    assert document.make(40)["group_00"] == whole["group_00"]


def _parts() -> list[Any]:
    compared = dict.fromkeys(("stock", "lazy", "ratio", "over_lazy"), 100)
    ways = dict.fromkeys(("columns", "lists", "entities_alone"), 100)
    sizes = {"values": 1, "embedded_bytes": 2, "packed_bytes": 3}
    return [
        *(
            make_line(Packed, use=use, size=size, packed=100, **sizes, **compared)
            for use in packed.USES
            for size in packed.SIZES
        ),
        *(
            make_line(
                Columns, source=source, entities=200, properties=60, names=6, **ways, **compared
            )
            for source in columnar.SOURCES
        ),
        make_line(ColumnsMemory, entities=1_000_000, batch=10, few=100, all=100, ratio=1),
    ]


@pytest.mark.parametrize(
    ("option", "steps", "declared"),
    [
        ("--packed", run.packed_steps(run.QUICK), goals.PACKED_GOALS),
        ("--columns", run.columns_steps(run.QUICK), goals.COLUMNS_GOALS),
    ],
)
def test_command(
    option: str,
    steps: list[run.Step],
    declared: tuple[goals.Goal, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Each option runs its own steps, shows their tables and checks its goals."""
    planned: list[str] = []

    def made(chosen: list[run.Step], _: Any) -> Any:
        planned.extend(section for section, _ in chosen)
        return iter(_parts())

    monkeypatch.setattr(run, "run", made)
    outcome = bench("--quick", option, "--check", "--output", tmp_path / "results.json")
    assert outcome.exit_code == 0, outcome.output
    assert planned == [section for section, _ in steps]
    for title in ("embedded entities and packed", "a DataFrame of 6 of 60", "column_batches()"):
        assert title in outcome.output
    # The headers of the last columns of two tables, which are wider than a terminal.
    assert outcome.output.count("lazy / ") == 2
    assert outcome.output.count("met  ") == sum(
        goal.backend == lazyentity.backend for goal in declared
    )


@pytest.mark.parametrize("others", [("--columns",), ("--kind", "K"), ("--properties", "5")])
def test_options_that_do_not_go_together(others: tuple[str, ...], tmp_path: Path) -> None:
    outcome = bench("--packed", *others, "--output", tmp_path / "results.json")
    assert outcome.exit_code == 2
    assert "do not go with --packed" in outcome.output
