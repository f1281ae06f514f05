"""Each line of results is measured, on small input; a side that gives something else is found."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.cloud import datastore
from google.cloud.datastore import Entity, helpers

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import processes, sides
from lazyentity.bench.harness.lines import Growing
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.harness.timing import Budget, Timed
from lazyentity.bench.harness.verify import OutputMismatch
from lazyentity.bench.measure import cached
from lazyentity.bench.subjects import (
    adapted,
    adapter_costs,
    columns_memory,
    conversion,
    end_to_end,
    memory,
    packed,
    writes,
)
from tests.support.benchmarks import ONCE

TWICE = Budget(seconds=0, min_rounds=2, max_rounds=2, sample_seconds=0)
MIXED = synthetic.MIXES["mixed"]
COLUMNS_OF = "bytes of a response", "a query over loopback gRPC"


def _checked(line: Any, top: str = "stock", bottom: str = "lazy", **expected: object) -> Any:
    """Check a line: its case, figures that are there, and a ratio that is of two of them."""
    assert {name: getattr(line, name) for name in expected} == expected
    held = {field.name: getattr(line, field.name) for field in dataclasses.fields(line)}
    # A difference may be of nothing.
    figures = {name: of for name, of in held.items() if isinstance(of, Summary) and name != "more"}
    assert min(figure.median for figure in figures.values()) > 0
    if top in figures:
        assert line.ratio.median == pytest.approx(figures[top].median / figures[bottom].median)
    assert not lazyentity.patched()
    return line


@pytest.mark.parametrize("call", [*end_to_end.CALLS, end_to_end.ASYNCIO_QUERY, end_to_end.WRITE])
def test_end_to_end(call: str) -> None:
    """Each call is timed on all its sides, their answers compared; reads have a floor."""
    line = end_to_end.measure(call, 7, 12, ONCE)
    is_write = call == end_to_end.WRITE
    _checked(line, call=call, entities=7, properties=12, changed=int(is_write))
    assert (line.floor is not None) == (line.over_floor is not None) == (call in end_to_end.CALLS)


def test_a_floor_that_carried_less_is_found() -> None:
    """The floor counts only if it carried the answer that the others decoded."""
    with end_to_end.loaded("query", entities=5, properties=6) as call:
        stock, lazy = call.tasks["stock"](), call.tasks["lazy"]()
        with pytest.raises(OutputMismatch, match="floor"):
            call.check(stock, lazy)
        assert call.tasks["floor"]() == []
        call.check(stock, lazy)


@pytest.mark.parametrize("name", ["get_multi", end_to_end.ASYNCIO_QUERY])
def test_values_that_differ_are_found(name: str) -> None:
    """The lazy client's values are compared with the stock client's."""
    with end_to_end.loaded(name, entities=3, properties=6) as call:
        stock, lazy = call.run("stock"), call.run("lazy")
        assert len(lazy) == 3
        for task in {*call.tasks} - {"stock", "lazy"}:
            call.run(task)
        call.check(stock, lazy)
        with pytest.raises(OutputMismatch, match="entities"):
            call.check(stock[:2], lazy[:2])
        with pytest.raises(OutputMismatch, match="text"):
            call.check(stock, [*lazy[:2], "another"])


@pytest.mark.parametrize("side", ["stock", "lazy"])
def test_what_the_server_holds_is_compared(side: str) -> None:
    """A side that did not write the changes it reports is found."""
    with end_to_end.loaded_write(entities=3, properties=6) as call:
        written = {name: call.run(name) for name in call.tasks}
        call.check(written["stock"], written["lazy"])
        with pytest.raises(OutputMismatch, match="properties 'text_000'"):
            call.check(*{**written, side: "other"}.values())


def test_lazy_entities_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patched client writes lazy entities of which only the read property was decoded."""
    put: list[Any] = []
    original: Any = datastore.Client.put_multi

    def put_multi(client: datastore.Client, entities: list[Any]) -> None:
        put.append([(type(one), len(lazyentity.decoded(one))) for one in entities])
        original(client, entities)

    with end_to_end.loaded_write(entities=2, properties=6) as call:
        monkeypatch.setattr(datastore.Client, "put_multi", put_multi)
        for side in ("stock", "lazy"):
            call.run(side)
    assert put == [[(datastore.Entity, 6)] * 2, [(lazyentity.LazyEntity, 1)] * 2]


DECODED = decoding.select(tuple(synthetic.MIXES), (1, 5, 20), synthetic.READS)
REWRITES = writes.select_rewrites((5, 20))
PUTS = writes.select_puts((5, 20))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer entities are put: none of these tests looks at how long it takes."""
    monkeypatch.setattr(writes, "ENTITIES_PUT", 10)


@pytest.mark.parametrize("name", DECODED)
def test_decoding(name: str) -> None:
    """Every kind of case decodes to the same on both sides, and gives a time for each."""
    case = DECODED[name]()
    line = conversion.measure(case, ONCE)
    _checked(line, mix=case.mix, properties=case.properties, read=case.read)


@pytest.mark.parametrize("name", REWRITES)
def test_rewriting(name: str) -> None:
    """Both sides write the same, and there is a time for each; nothing stays patched."""
    case = REWRITES[name]()
    line = _checked(writes.measure_rewrite(case, ONCE), wire_bytes=case.source.wire_bytes)
    assert f"{line.properties}-{line.changed}" == name


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", PUTS)
def test_putting(name: str) -> None:
    """Both sides make the same messages, and there is a time for each; nothing stays patched."""
    case = PUTS[name]()
    size: dict[str, Any] = {"properties": case.properties, "entities": len(case.entities)}
    line = _checked(writes.measure_put(case, ONCE), mix=case.mix, **size)
    assert line.wire_bytes > 20 * case.properties


def test_the_sides_are_what_they_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """One side makes stock entities, the other lazy ones; eager or materialized, stock ones.

    The former are written by the client as it is, the latter by the patched client.
    """
    (response,) = decoding.case("mixed", 5, "1").responses
    made = (sides.STOCK, sides.LAZY, sides.EAGER, sides.MATERIALIZED)
    kinds = [type(side.entities(response)[0]) for side in made]
    assert kinds == [Entity, lazyentity.LazyEntity, Entity, Entity]

    encoded: list[tuple[type, bool]] = []
    original = sides.to_bytes

    def to_bytes(entity: Entity) -> bytes:
        encoded.append((type(entity), bool(lazyentity.patched())))
        return original(entity)

    monkeypatch.setattr(sides, "to_bytes", to_bytes)
    writes.measure_rewrite(writes.rewrite(5, "1"), ONCE)
    assert set(encoded) == {(Entity, False), (lazyentity.LazyEntity, True)}


@pytest.mark.parametrize("read", ["0", "1", "4", "half"])
def test_the_lazy_side_decodes_what_is_read(read: str) -> None:
    """While it is timed, the lazy side decodes the properties that are read and no others."""
    case = decoding.case("mixed", 20, read)
    entities = conversion.comparison(case).tasks["lazy"]()
    wanted = set(synthetic.names_read(MIXED, 20, read))
    assert all(set(lazyentity.decoded(entity)) == wanted for entity in entities)


@pytest.fixture
def wrong_lazy_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lazy side's client writes another value."""
    original: Any = helpers.entity_to_protobuf

    def entity_to_protobuf(entity: Entity) -> Any:
        message = original(entity)
        message._pb.properties["text_000"].string_value += "!"
        return message

    @contextlib.contextmanager
    def context() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(helpers, "entity_to_protobuf", entity_to_protobuf)
            yield

    monkeypatch.setitem(sides.CONTEXTS, "lazy", context)


@pytest.mark.parametrize(
    ("wrong", "measure"),
    [
        ("wrong_lazy_side", lambda: conversion.measure(decoding.case("mixed", 5, "1"), ONCE)),
        ("wrong_lazy_writer", lambda: writes.measure_rewrite(writes.rewrite(5, "1"), ONCE)),
        ("wrong_lazy_writer", lambda: writes.measure_put(writes.fresh(5), ONCE)),
        ("wrong_lazy_side", lambda: conversion.measure_scaling("properties", (10,), False, TWICE)),
        ("wrong_lazy_side", lambda: conversion.measure_scaling("entities", (10,), False, TWICE)),
    ],
    ids=["decode", "rewrite", "put", "properties", "entities"],
)
def test_wrong_output_is_no_result(
    wrong: str, measure: Callable[[], object], few: None, request: pytest.FixtureRequest
) -> None:
    """A lazy side that gives or writes something else fails instead of being timed."""
    request.getfixturevalue(wrong)
    with pytest.raises(OutputMismatch, match="text_000"):
        measure()


@pytest.mark.any_backend
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


@pytest.mark.any_backend
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
    assert (first.lazy.median, second.lazy.median) == pytest.approx((100, 200))


def test_memory() -> None:
    """Each side holds at least the bytes that it was made of."""
    line = _checked(memory.measure(50, 1000, 1), "lazy", "stock", properties=50, entities=1000)
    assert min(line.stock.median, line.lazy.median, line.upb_message.median) > line.wire_bytes


@pytest.mark.parametrize("names", [1, 3])
def test_new_names(names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entities whose names come once are timed on both sides, and so is memory."""
    monkeypatch.setattr(memory, "_NAMES_BEFORE", 100)
    line = memory.measure_new_names(memory.OF_ENTITIES, names, rounds=1, budget=ONCE)
    _checked(line, of="entities", names=names)
    assert min(line.stock_mb.median, line.lazy_mb.median) > 10


def test_plain_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain dicts have stock's values; both ways are timed."""
    _checked(conversion.measure_plain_values(7, ONCE), "to_dict", "decode", properties=7)
    monkeypatch.setattr(lazyentity, "to_dict", lambda entity: dict.fromkeys(entity, "another"))
    with pytest.raises(OutputMismatch, match=r"in place of (int|'value 0')"):
        conversion.measure_plain_values(2, ONCE)


def test_document_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is read in all the ways, and the values read are compared.

    JSON counts only if it is the document that the others decoded.
    """
    floor = _checked(conversion.measure_floor(ONCE))
    assert floor.json_ratio.median == pytest.approx(floor.stock.median / floor.json.median)
    assert floor.over_json.median == pytest.approx(floor.lazy.median / floor.json.median)
    monkeypatch.setattr(msgspec.json, "encode", lambda _entities: b'[{"document": {"a": 1}}]')
    with pytest.raises(OutputMismatch, match="JSON"):
        conversion.measure_floor(ONCE)


def test_overheads() -> None:
    """The import and the access to a decoded property are measured."""
    imported = conversion.import_ms(rounds=2)
    assert imported.median > 0
    assert imported.rounds == 2
    _checked(conversion.access(ONCE), "entity", "plain_dict")


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
    monkeypatch.setattr(conversion, "_IMPORT", print_whether_cached)
    assert conversion.import_ms(rounds=2).median == 1e3


@pytest.mark.parametrize("use", adapted.NAMES)
def test_adapted(use: str) -> None:
    """Each use is timed with adapters and without."""
    line = _checked(adapted.measure(use, ONCE), "lazy", "stock", use=use)
    assert line.more.median == pytest.approx(line.lazy.median - line.stock.median)


@pytest.mark.parametrize(
    "use", [("pydantic", "model_dump"), ("xml.etree", "TreeBuilder.start"), adapter_costs.UVICORN]
)
def test_adapter_costs(use: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for calls in "AFTER_CHANGE", "_REQUESTS":
        monkeypatch.setattr(adapter_costs, calls, 2)
    library, name = use
    _checked(adapter_costs.measure(*use, ONCE), "no ratio", library=library, use=name)


@pytest.mark.any_backend
@pytest.mark.parametrize("step", [cached.FETCH, cached.STORE])
def test_cache(step: str) -> None:
    """Both ways of a cache are timed, on entities that are the same."""
    _checked(cached.measure(step, 6, ONCE), "pickle", "raw", step=step)


@pytest.mark.parametrize("use", packed.USES)
def test_packed(use: str) -> None:
    line = packed.measure(use, "10 KB", ONCE)
    _checked(line, "stock", "packed", use=use, size="10 KB", values=19 * 24)
    assert 9_000 < line.embedded_bytes < 11_000
    assert line.packed_bytes < line.embedded_bytes / 4


def test_packed_finds_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "unpack", lambda _: {})
    with pytest.raises(OutputMismatch, match="of packed is not the one that was stored"):
        packed.measure("read", "10 KB", ONCE)


@pytest.mark.parametrize("source", COLUMNS_OF)
def test_columns(source: str) -> None:
    """The six properties are of the six types."""
    columnar = pytest.importorskip("lazyentity.bench.subjects.columnar")
    size: dict[str, Any] = {"entities": 200, "properties": 60, "names": 6}
    _checked(columnar.measure(source, ONCE), "stock", "columns", source=source, **size)
    assert columnar.SOURCES == COLUMNS_OF
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
