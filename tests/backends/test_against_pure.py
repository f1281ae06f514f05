"""The native backend gives the results of the pure backend."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.backends import NATIVE, PURE, assert_same_access, assert_same_written
from tests.backends.malformed import MALFORMED, entity_of
from tests.support.snapshots import outcome
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.samples import PLAIN, RICH
from tests.support.strategies.schema import VALUE

pytestmark = pytest.mark.any_backend


@given(raw=entities(Grammar(odd=False, faulty=True)))
def test_canonical_bytes(raw: bytes) -> None:
    """Both backends read bytes that servers send alike, or raise the same exception."""
    assert_same_access(raw, malformed=False)


@given(raw=entities(Grammar(faulty=True)))
def test_odd_bytes(raw: bytes) -> None:
    """Both backends read legal bytes that no serialiser writes alike."""
    assert_same_access(raw, malformed=False)


@given(raw=entities(Grammar(faulty=True)))
def test_writing_back(raw: bytes) -> None:
    """Both backends write a partly read entity as the same message, or refuse it."""
    assert_same_written(raw)


@given(raw=entities(Grammar(odd=False, depth=1)), data=st.data())
def test_torn_bytes(raw: bytes, data: st.DataObject) -> None:
    """Both backends read an entity with one byte changed or its end missing alike."""
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    if raw:
        at = data.draw(st.integers(0, len(raw) - 1))
        raw = raw[:at] + bytes([data.draw(st.integers(0, 255))]) + raw[at + 1 :]
    assert_same_access(raw, malformed=True)


@given(raw=st.binary(max_size=40))
def test_any_bytes(raw: bytes) -> None:
    """Both backends read arbitrary bytes alike."""
    assert_same_access(raw, malformed=True)


ACCESSES: dict[str, Any] = {
    "the property": lambda entity: entity["a"],
    "key": lambda entity: entity.key,
    "items": lambda entity: entity.items(),
}


@pytest.mark.parametrize("access", ACCESSES.values(), ids=ACCESSES.keys())
@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
def test_texts_for_malformed_bytes(raw: bytes, access: Any) -> None:
    """Each access to a malformed entity raises the same exception with the same text."""
    native = outcome(lambda: access(NATIVE.from_bytes(raw)))
    assert native == outcome(lambda: access(PURE.from_bytes(raw)))


@pytest.mark.parametrize("raw", [PLAIN, RICH], ids=["plain", "rich"])
def test_every_prefix(raw: bytes) -> None:
    """Both backends read every prefix of an entity alike."""
    for end in range(len(raw)):
        assert_same_access(raw[:end], malformed=True)


@pytest.mark.parametrize("given", [None, "text", bytearray(PLAIN), memoryview(PLAIN), 7, [1]])
def test_other_types_than_bytes(given: Any) -> None:
    """The public constructor refuses other types than bytes alike, before anything is read."""
    native = outcome(lambda: NATIVE.from_bytes(given))
    assert native == outcome(lambda: PURE.from_bytes(given))
    assert native.kind is TypeError


def test_order_of_the_wire() -> None:
    """The native backend keeps the order in which the properties arrived."""
    names = [f"property {number * 7 % 40}" for number in range(40)]
    null = wire.integer(VALUE.null_value, 0)
    assert list(NATIVE.from_bytes(b"".join(entity_of(name, null) for name in names))) == names
