"""The measurements of bulk calls and of snapshots run, and compare what they read."""

from __future__ import annotations

from pathlib import Path

import pytest

from lazyentity.bench.measure import bulk, page_tables, snapshots
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import readme
from tests.support.benchmarks import ONCE


def test_bulk_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are counted, and each way is compared with get_many()."""
    monkeypatch.setattr(bulk, "_ROUNDS", ONCE)
    monkeypatch.setattr(bulk, "_AT_ONCE", 10)
    monkeypatch.setattr("lazyentity.bulk.reading.MAX_KEYS", 10)
    monkeypatch.setattr(bulk, "_MOST_ONE_BY_ONE", 5)
    monkeypatch.setattr(bulk, "THREADS", 4)
    monkeypatch.setattr(bulk, "GETS", 2)
    with bulk.loaded(0.001, 25) as (client, keys):
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
