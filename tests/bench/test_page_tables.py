"""The benchmarks that only the documentation shows: results files, tables, and what they read."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazyentity.bench.harness import results
from lazyentity.bench.harness.results import ResultsError
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.measure import __main__ as command
from lazyentity.bench.measure import bulk, page_results, page_tables, snapshots
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import readme
from tests.support.benchmarks import ONCE
from tools.tables import RESULTS


def _summary(median: float) -> Summary:
    return Summary(median=median, q1=median, q3=2 * median, rounds=3)


def _keys(way: str, side: str, seconds: float, requests: int) -> page_results.Keys:
    ratio = _summary(seconds / 0.25)
    return page_results.Keys(10_000, 0.01, way, side, requests, _summary(seconds), ratio)


def _sides(stock: float, lazy: float, ratio: float) -> dict[str, Summary]:
    return {"stock": _summary(stock), "lazy": _summary(lazy), "ratio": _summary(ratio)}


MEASURED = PageResults.of(
    [
        _keys(bulk.ONE_BY_ONE, "stock", 100.0, 10_000),
        _keys(bulk.GET_MULTI, "stock", 2.0, 10),
        _keys(bulk.GET_MANY, "stock", 0.25, 10),
        _keys(bulk.GET_MULTI, "lazy", 0.5, 10),
        _keys(bulk.GET_MANY, "lazy", 0.25, 10),
        page_results.Gets(200, 0.01, "lazy", *map(_summary, (1500, 9000, 6, 1.01))),
        page_results.Forms(
            entities=1_000,
            properties=100,
            lines=[
                page_results.Form(snapshots.SNAPSHOT, 2_000_000, _summary(0.001), _summary(0.5)),
                page_results.Form(snapshots.SERVER, None, _summary(0.5), _summary(9)),
            ],
            wire=10_000_000,
            save=12.34,
            unchanged=5.6,
            first=_summary(20_000),
            everything=_summary(7.5),
        ),
        page_results.Cached("into the cache", *map(_summary, (20, 2.5, 8))),
        page_results.Beam(
            entities=300,
            properties=100,
            cases=[page_results.BeamCase(case="_QueryFn", **_sides(160, 10, 16))],
            small=10,
            costs=[
                page_results.BeamCost(1_000, 23.691, 4.234),
                page_results.BeamCost(100_000, 27.7, 4.2),
            ],
            in_memory=10_000,
            peaks={"stock": 812.3, "lazy": 411.7},
        ),
        page_results.Documents(
            queried=300,
            looked_up=100,
            cases=[
                page_results.DocumentCase(
                    "query", "mixed", 500, _summary(70), **_sides(2100, 200, 10.5)
                ),
                page_results.DocumentCase("bytes", "nested", 20, **_sides(550, 20, 27.5)),
            ],
            memory=[page_results.DocumentMemory("mixed", 5, 210, **_sides(1400, 350, 0.25))],
        ),
    ]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    results.write(path, results.dump(MEASURED))
    return path


@pytest.mark.any_backend
def test_files(path: Path) -> None:
    """A file holds the run; another schema is an error that names it."""
    assert page_results.load(path) == MEASURED
    path.write_text(path.read_text("utf-8").replace('"schema":2', '"schema":1'), "utf-8")
    with pytest.raises(ResultsError, match="is no results file of schema 2"):
        page_results.load(path)


def section(made: PageResults) -> str:
    """The section of a page, without its line breaks."""
    return " ".join(readme.render(made, compact=True, tables_of=page_tables.tables).split())


@pytest.mark.any_backend
def test_tables(path: Path) -> None:
    """Every figure of a run is in them; ways that were not measured have no line."""
    shown = section(page_results.load(path))
    assert shown.startswith(f"Measured on {MEASURED.date[:10]}: ")
    assert f"{MEASURED.environment.backend} backend" in shown
    assert "Milliseconds of wall time with 10 milliseconds of latency:" in shown
    for line in (
        "10,000 stock get, one by one 10,000 100,000.0 400.0x (400.0-800.0)",
        "10,000 stock get_multi of 1,000 10 2,000.0 8.0x (8.0-16.0)",
        "10,000 stock get_many 10 250.0 n/a",
        "10,000 lazy get_multi of 1,000 10 500.0 2.0x (2.0-4.0)",
        "10,000 lazy get_many 10 250.0 n/a",
        "Single gets of 200 threads",
        "10 ms lazy 1,500 9,000 6.0x (6.0-12.0) 1.01x (1.01-2.02)",
        "snapshot 2.0 0.0010 n/a 0.50 n/a",
        "server n/a 0.5000 500.00x 9.00 18.00x",
        "The file has 0.20 of these bytes.",
        "20,000 times as long until the first entity, and 7.5 times",
        "12.3 seconds, and one without changes 5.6",
        "into the cache 20.00 2.50 8.0x (8.0-16.0)",
        "_QueryFn 160.0 10.0 16.0x (16.0-32.0)",
        "1,000 23.69 4.23 5.6x",
        "100,000 27.70 4.20 6.6x",
        "runs the pipeline with entities of 100 properties",
        "10,000 812 412 0.51x",
        "of 300 of a query and 100 of a look-up",
        "query mixed 500 2,100.0 200.0 70.0 10.5x (10.5-21.0) 30.0x",
        "bytes nested 20 550.0 20.0 n/a 27.5x (27.5-55.0) n/a",
        "mixed 5 210 1,400 350 0.25x (0.25-0.50)",
    ):
        assert line in shown
    assert "lazy get, one by one" not in shown


@pytest.mark.any_backend
def test_every_benchmark_is_declared() -> None:
    """Its name is that of its results, which two of them have for each backend."""
    results = {path.stem.removesuffix("-pure") for path in RESULTS.glob("*.json")}
    committed = [name for name in command.NAMES if not name.startswith("ablation-")]
    assert {*committed} <= results
    # It needs Beam, whose environment is its own.
    for name in command.NAMES.keys() - {"beam-connector"}:
        assert command.benchmark(name).budget.min_rounds > 0


def test_bulk_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are counted, and each way is compared with get_many()."""
    monkeypatch.setattr(bulk, "_ROUNDS", ONCE)
    monkeypatch.setattr(bulk, "_AT_ONCE", 10)
    monkeypatch.setattr("lazyentity.bulk.reading.MAX_KEYS", 10)
    monkeypatch.setattr(bulk, "_MOST_ONE_BY_ONE", 5)
    monkeypatch.setattr(bulk, "THREADS", 4)
    monkeypatch.setattr(bulk, "GETS", 2)
    with bulk.loaded(0.001, 25) as served:
        (client,), keys = served.clients, served.keys
        lines = bulk.measure(client, keys, 0.001)
        requests = {(line.way, line.side): line.requests for line in lines}
        assert requests == {
            (way, side): count
            for way, count in ((bulk.ONE_BY_ONE, 25), (bulk.GET_MULTI, 3), (bulk.GET_MANY, 3))
            for side in ("stock", "lazy")
            if (way, side) != (bulk.ONE_BY_ONE, "lazy")
        }
        assert {line.ratio.median for line in lines if line.way == bulk.GET_MANY} == {1}
        made = PageResults.of(lines)
        (table,) = page_tables.tables(made)
        assert "get_multi" in readme.rendered(table)
        compared = bulk.goals(made)
        assert [(outcome.median, outcome.bound, outcome.met) for outcome in compared] == [
            (3, 3, True),
            (3, 3, True),
        ]
        single, joined, more = bulk.measure_threads(client, keys, 1)
        assert min(single.median, joined.median, more.median) > 0
        assert bulk.measure_lone(client, keys[0], ONCE).median > 0


def test_snapshots(tmp_path: Path) -> None:
    """Every form has the same entities, some of which have equal contents."""
    made = list(snapshots.entities(20, 5))
    contents = {tuple(entity.items()) for entity in made}
    assert (len(made), len(contents)) == (20, 14)
    path = tmp_path / "entities"
    snapshots._write_json(path, made)
    rows = list(snapshots._read_json(path))
    assert [row["key"] for row in rows] == [entity.key.id for entity in made]
    snapshots._write_pickle(path, made)
    assert list(snapshots._read_pickle(path)) == made
    assert snapshots.read(snapshots.PICKLE, str(path), 20, 5, snapshots.ALL) > 0
    with pytest.raises(ValueError, match="has 20 entities, not 21"):
        snapshots.read(snapshots.PICKLE, str(path), 21, 5, snapshots.ALL)
