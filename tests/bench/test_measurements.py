"""The measurements that need other processes, on small input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bench.harness import verify
from lazyentity.bench.subjects import (
    adapted,
    conversion,
    end_to_end,
    end_to_end_asyncio,
    end_to_end_writes,
    memory,
    new_names,
    overheads,
)
from tests.support.benchmarks import ONCE


@pytest.mark.parametrize("call", end_to_end.CALLS)
def test_end_to_end(call: str) -> None:
    """Each call is timed on all three sides, their answers compared."""
    line = end_to_end.measure(call, entities=7, properties=12, budget=ONCE)
    assert (line.call, line.entities, line.properties) == (call, 7, 12)
    assert line.floor is not None
    assert min(line.stock.median, line.lazy.median, line.floor.median) > 0


def test_a_floor_that_carried_less_is_found() -> None:
    """The floor counts only if it carried the answer that the others decoded."""
    with end_to_end.loaded("query", entities=5, properties=6) as sides:
        stock, lazy = sides.tasks["stock"](), sides.tasks["lazy"]()
        with pytest.raises(verify.OutputMismatch, match="floor"):
            sides.check(stock, lazy)
        assert sides.tasks["floor"]() == []
        sides.check(stock, lazy)


def test_end_to_end_write() -> None:
    """Reading, changing and writing back is timed on both sides; there is no floor."""
    line = end_to_end_writes.measure(entities=7, properties=12, budget=ONCE)
    assert (line.entities, line.properties, line.changed) == (7, 12, 1)
    assert min(line.stock.median, line.lazy.median) > 0
    assert line.floor is line.over_floor is None
    assert not lazyentity.patched()


@pytest.mark.parametrize("side", ["stock", "lazy"])
def test_what_the_server_holds_is_compared(side: str) -> None:
    """A side that did not write the changes it reports is found."""
    with end_to_end_writes.loaded(entities=3, properties=6) as call:
        written = {name: call.run(name) for name in call.tasks}
        call.check(written["stock"], written["lazy"])
        with pytest.raises(verify.OutputMismatch, match="properties 'text_000'"):
            call.check(*{**written, side: "other"}.values())


def test_lazy_entities_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patched client writes lazy entities of which only the read property was decoded."""
    put: list[Any] = []
    original: Any = datastore.Client.put_multi

    def put_multi(client: datastore.Client, entities: list[Any]) -> None:
        put.append([(type(one), len(lazyentity.decoded(one))) for one in entities])
        original(client, entities)

    with end_to_end_writes.loaded(entities=2, properties=6) as call:
        monkeypatch.setattr(datastore.Client, "put_multi", put_multi)
        for side in ("stock", "lazy"):
            call.run(side)
    assert put == [[(datastore.Entity, 6)] * 2, [(lazyentity.LazyEntity, 1)] * 2]


def test_values_that_differ_are_found() -> None:
    """The lazy client's values are compared with the stock client's."""
    with end_to_end.loaded("get_multi", entities=3, properties=6) as sides:
        sides.tasks["floor"]()
        with pytest.raises(verify.OutputMismatch, match="text"):
            sides.check(["a", "b", "c"], ["a", "b", "d"])


def test_end_to_end_asyncio() -> None:
    line = end_to_end_asyncio.measure(entities=7, properties=12, budget=ONCE)
    assert (line.call, line.entities, line.properties) == (end_to_end_asyncio.CALL, 7, 12)
    assert min(line.stock.median, line.lazy.median) > 0
    assert line.floor is None
    assert not lazyentity.patched()


def test_asyncio_values_that_differ_are_found() -> None:
    with end_to_end_asyncio.loaded(entities=3, properties=6) as call:
        stock, lazy = call.run("stock"), call.run("lazy")
        assert len(lazy) == 3
        call.check(stock, lazy)
        with pytest.raises(verify.OutputMismatch, match="entities"):
            call.check(stock[:2], lazy[:2])
        with pytest.raises(verify.OutputMismatch, match="text"):
            call.check(stock, [*lazy[:2], "another"])


def test_memory() -> None:
    """Each side holds at least the bytes that it was made of."""
    line = memory.measure(properties=50, entities=1000, rounds=1)
    assert min(line.stock.median, line.lazy.median, line.upb_message.median) > line.wire_bytes
    assert line.ratio.median == pytest.approx(line.lazy.median / line.stock.median)


def test_plain_values() -> None:
    """Plain dicts have stock's values; both ways are timed."""
    line = conversion.measure_plain_values(7, ONCE)
    assert line.properties == 7
    assert line.ratio.median == pytest.approx(line.to_dict.median / line.decode.median)


def test_plain_values_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazyentity, "to_dict", lambda entity: dict.fromkeys(entity, "another"))
    with pytest.raises(verify.OutputMismatch, match=r"in place of (int|'value 0')"):
        conversion.measure_plain_values(2, ONCE)


@pytest.mark.parametrize("use", adapted.NAMES)
def test_adapted(use: str) -> None:
    """Each use is timed with adapters and without."""
    line = adapted.measure(use, ONCE)
    assert line.use == use
    assert line.ratio.median == pytest.approx(line.lazy.median / line.stock.median)
    assert line.more.median == pytest.approx(line.lazy.median - line.stock.median)


def test_document_floor() -> None:
    """The document is read in all the ways, and the values read are compared."""
    floor = conversion.measure_floor(ONCE)
    assert min(floor.lazy.median, floor.json.median, floor.loop.median) > 0
    assert floor.ratio.median == pytest.approx(floor.stock.median / floor.lazy.median)
    assert floor.json_ratio.median == pytest.approx(floor.stock.median / floor.json.median)
    assert floor.over_json is not None
    assert floor.over_json.median == pytest.approx(floor.lazy.median / floor.json.median)


def test_another_document_as_json_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON counts only if it is the document that the others decoded."""
    monkeypatch.setattr(msgspec.json, "encode", lambda _entities: b'[{"document": {"a": 1}}]')
    with pytest.raises(verify.OutputMismatch, match="JSON"):
        conversion.measure_floor(ONCE)


def test_overheads() -> None:
    """The import and the access to a decoded property are measured."""
    imported = overheads.import_ms(rounds=2)
    assert imported.median > 0
    assert imported.rounds == 2
    access = overheads.access(ONCE)
    assert min(access.entity.median, access.plain_dict.median, access.ratio.median) > 0


def test_import_is_timed_with_its_bytecode_cached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Compiling lazyentity, which installing it does, is no part of the figure."""
    print_whether_cached = """
import importlib.util
import os
source = importlib.util.find_spec("lazyentity").origin
print(float(os.path.exists(importlib.util.cache_from_source(source))))
import lazyentity.auto
"""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    monkeypatch.setattr(overheads, "_IMPORT", print_whether_cached)
    assert overheads.import_ms(rounds=2).median == 1e3


@pytest.mark.parametrize("names", [1, 3])
def test_new_names(names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entities whose names come once are timed on both sides, and so is memory."""
    monkeypatch.setattr(new_names, "_NAMES_BEFORE", 100)
    line = new_names.measure(new_names.ENTITIES, names, rounds=1, budget=ONCE)
    assert (line.of, line.names) == ("entities", names)
    assert min(line.stock.median, line.lazy.median) > 0
    assert min(line.stock_mb.median, line.lazy_mb.median) > 10
