from __future__ import annotations

import contextlib
import datetime
import math
from typing import Any

import pytest
from google.cloud.datastore import Entity, Key, helpers
from proto.datetime_helpers import DatetimeWithNanoseconds

import lazyentity
from lazyentity.bench import run
from lazyentity.bench.cases import decoding
from lazyentity.bench.harness import sides, verify


def entity(**properties: Any) -> Entity:
    made = Entity(key=Key("Kind", 1, project="p"))
    made.update(properties)
    return made


def nanoseconds(value: int) -> DatetimeWithNanoseconds:
    return DatetimeWithNanoseconds(2020, 1, 1, nanosecond=value, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("stock", "lazy"),
    [
        pytest.param(1, True, id="bool for int"),
        pytest.param(1.0, 1, id="int for float"),
        pytest.param("a", b"a", id="bytes for text"),
        pytest.param(0.0, -0.0, id="sign of zero"),
        pytest.param(nanoseconds(1), nanoseconds(2), id="nanoseconds"),
        pytest.param([1, 2], [1], id="shorter array"),
        pytest.param([1, [2]], [1, [3]], id="inside an array"),
        pytest.param(entity(a=1), {"a": 1}, id="dict for entity"),
        pytest.param(entity(a=1), entity(), id="property missing"),
        pytest.param(entity(a=entity(b=1)), entity(a=entity(b=2)), id="embedded entity"),
        pytest.param(Entity(key=Key("K", 1, project="p")), Entity(), id="key"),
        pytest.param(Entity(exclude_from_indexes=("a",)), Entity(), id="exclude_from_indexes"),
    ],
)
def test_differences_are_found(stock: Any, lazy: Any) -> None:
    """A difference from stock's output, in value or in type, fails the measurement."""
    with pytest.raises(verify.OutputMismatch):
        verify.check_same(stock, lazy, "value")


@pytest.mark.parametrize(
    "value",
    [math.nan, None, "", [], [[]], entity(a=[entity(b=math.nan)]), nanoseconds(7)],
    ids=repr,
)
def test_same_is_same(value: Any) -> None:
    """Output that equals stock's passes, NaN included."""
    verify.check_same(value, value, "value")


def test_subclass_of_entity_is_an_entity() -> None:
    """A lazy entity may be a subclass: that is announced as a difference that is accepted."""

    class Sub(Entity):
        pass

    other = Sub()  # type: ignore[no-untyped-call]  # the client is untyped
    other.update(a=1)
    embedded = Entity()
    embedded.update(a=1)
    verify.check_same(embedded, other, "value")


def test_only_what_is_read_is_compared() -> None:
    """Comparing the objects of a timed round decodes no property that the round did not read."""
    reader = decoding.ByName(plan=(("a",),))
    verify.check_read(reader, [entity(a=1, b=1)], [entity(a=1, b=2)])
    with pytest.raises(verify.OutputMismatch, match="'a'"):
        verify.check_read(reader, [entity(a=1)], [entity(a=2)])


def serialized(**properties: Any) -> bytes:
    return sides.to_bytes(entity(**properties))


def test_messages_are_compared_by_what_they_parse_to() -> None:
    """Properties in another order, and one that is there twice, are no difference."""
    stock = serialized(a=1, b=math.nan, c=entity(d=[None], e=2))
    other = serialized(c=entity(e=2, d=[None]), b=math.nan, a=1)
    keyless = Entity()
    keyless.update(a=0)
    twice = sides.to_bytes(keyless) + stock
    for lazy in (stock, other, twice):
        verify.check_messages([stock], [lazy])


@pytest.mark.parametrize(
    ("lazy", "where"),
    [
        pytest.param([], "0 messages in place of 1", id="missing"),
        pytest.param([serialized(a=1, b=3)], r"messages\[0\]: properties 'b'", id="value"),
        pytest.param([serialized(a=1, b=True)], "properties 'b'", id="type"),
        pytest.param([serialized(a=1)], "properties 'b'", id="property missing"),
        pytest.param([serialized(a=1, b=2, c=3)], "properties 'c'", id="property added"),
        pytest.param([serialized(a=1, b=2) + b"\x98\x06\x01"], "outside", id="unknown field"),
        pytest.param([serialized(a=1, b=2)[:-1]], r"messages\[0\]", id="truncated"),
    ],
)
def test_messages_that_differ_are_found(lazy: list[bytes], where: str) -> None:
    """A difference from the message that stock makes fails the measurement, and is named."""
    with pytest.raises(verify.OutputMismatch, match=where):
        verify.check_messages([serialized(a=1, b=2)], lazy)


def test_a_patched_process_is_refused() -> None:
    """With lazyentity active there is no stock side to compare with."""
    lazyentity.patch()
    try:
        with pytest.raises(sides.PatchedProcess, match="datastore"):
            list(run.run([("decode", lambda: pytest.fail("measured"))], lambda _: None))
    finally:
        lazyentity.unpatch()


def test_the_patch_of_a_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not depend on the environment, and ends with an error.

    A lazy side that LAZYENTITY_DISABLE made a stock one would be timed against itself.
    """
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    original = helpers.entity_from_protobuf
    with contextlib.suppress(RuntimeError), sides.patched():
        assert lazyentity.patched() == ("datastore",)
        assert helpers.entity_from_protobuf is not original
        raise RuntimeError
    assert helpers.entity_from_protobuf is original
    assert not lazyentity.patched()
