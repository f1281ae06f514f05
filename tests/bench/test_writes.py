from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud.datastore import Entity, helpers

import lazyentity
from lazyentity.bench.cases import synthetic, wire
from lazyentity.bench.harness import sides
from lazyentity.bench.harness.verify import OutputMismatch
from lazyentity.bench.subjects import writes
from tests.support.benchmarks import ONCE

REWRITES = writes.select_rewrites((5, 20))
PUTS = writes.select_puts((5, 20))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer entities are put: none of these tests looks at how long it takes."""
    monkeypatch.setattr(writes, "ENTITIES_PUT", 10)


@pytest.mark.parametrize("name", REWRITES)
def test_every_rewrite_is_measured_with_equal_outputs(name: str) -> None:
    """Both sides write the same, and there is a time for each; nothing stays patched."""
    case = REWRITES[name]()
    line = writes.measure_rewrite(case, ONCE)
    assert f"{line.properties}-{line.changed}" == name
    assert line.wire_bytes == case.source.wire_bytes
    assert min(line.stock.median, line.lazy.median) > 0
    assert line.ratio.median == pytest.approx(line.stock.median / line.lazy.median)
    assert not lazyentity.patched()


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", PUTS)
def test_every_put_is_measured_with_equal_outputs(name: str) -> None:
    """Both sides make the same messages, and there is a time for each; nothing stays patched."""
    case = PUTS[name]()
    line = writes.measure_put(case, ONCE)
    assert (line.mix, line.properties) == (case.mix, case.properties)
    assert line.entities == len(case.entities)
    assert line.wire_bytes > 20 * case.properties
    assert min(line.stock.median, line.lazy.median) > 0
    assert line.ratio.median == pytest.approx(line.stock.median / line.lazy.median)
    assert not lazyentity.patched()


@pytest.mark.parametrize(("changed", "count"), [("0", 0), ("1", 1), ("half", 10), ("all", 20)])
def test_what_is_written_holds_the_changes(changed: str, count: int) -> None:
    """As many properties as the case says are others afterwards, and of the types as before."""
    case = writes.rewrite(20, changed)
    before = [
        wire.EntityMessage.FromString(raw)
        for response in case.source.responses
        for raw in wire.entities_of(response)
    ]
    after = map(wire.EntityMessage.FromString, writes.rewriting(case).tasks["stock"]())
    for old, new, changes in zip(before, after, case.changes, strict=True):
        assert old.key == new.key
        assert set(old.properties) == set(new.properties)
        others = {name for name in old.properties if old.properties[name] != new.properties[name]}
        assert others == {name for name, _ in changes}
        assert len(others) == count
        for name in others:
            kinds = {pb.properties[name].WhichOneof("value_type") for pb in (old, new)}
            assert len(kinds) == 1


def test_the_one_change_is_of_what_is_read() -> None:
    """One read and one change are of the same property."""
    case = writes.rewrite(20, "1")
    (read,) = synthetic.names_read(synthetic.MIXES[writes.MIX], 20, "1")
    assert {name for changes in case.changes for name, _ in changes} == {read}


def test_fewer_large_entities_are_put() -> None:
    """Of entities of up to 100 properties 500 are put, of larger ones fewer."""
    assert len(writes.fresh(100).entities) == 500
    assert len(writes.fresh(5).entities) == 500
    assert len(writes.fresh(500).entities) == 100


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[type, bool]]:
    """The type of every entity that is serialised, and whether the client was patched then."""
    seen: list[tuple[type, bool]] = []
    original = sides.to_bytes

    def to_bytes(entity: Entity) -> bytes:
        seen.append((type(entity), bool(lazyentity.patched())))
        return original(entity)

    monkeypatch.setattr(sides, "to_bytes", to_bytes)
    return seen


def test_the_sides_are_what_they_claim(encoded: list[tuple[type, bool]]) -> None:
    """Stock entities are written by the client as it is, lazy ones by the patched client."""
    writes.measure_rewrite(writes.rewrite(5, "1"), ONCE)
    assert set(encoded) == {(Entity, False), (lazyentity.LazyEntity, True)}


def test_the_patch_does_not_depend_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lazy side that LAZYENTITY_DISABLE made a stock one would be timed against itself."""
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    with sides.patched():
        assert lazyentity.patched() == ("datastore",)


def test_the_patch_ends_with_an_error() -> None:
    """An exception inside leaves the client as it was."""
    original = helpers.entity_from_protobuf
    with contextlib.suppress(RuntimeError), sides.patched():
        assert helpers.entity_from_protobuf is not original
        raise RuntimeError
    assert helpers.entity_from_protobuf is original
    assert not lazyentity.patched()


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.usefixtures("wrong", "few")
@pytest.mark.parametrize(
    "measure",
    [
        lambda: writes.measure_rewrite(writes.rewrite(5, "1"), ONCE),
        lambda: writes.measure_put(writes.fresh(5), ONCE),
    ],
    ids=["rewrite", "put"],
)
def test_wrong_output_is_no_result(measure: Callable[[], object]) -> None:
    """A lazy side that writes something else fails instead of being timed."""
    with pytest.raises(OutputMismatch, match="text_000"):
        measure()
