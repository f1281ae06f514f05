"""Malformed bytes, and entities that the stock client refuses as a whole.

If protobuf's parser accepts the whole message, the lazy entity equals the stock one. If it rejects
the message, the stock client raises DecodeError, and the lazy entity may differ in exactly this:

- ``from_bytes`` does not look into values. It raises DecodeError if the message itself, an entry or
  a name is malformed. Otherwise it may make an entity.
- Reading a property or the key gives stock's result for a message with this part alone: the same
  value or the same exception (for DecodeError, only the type). An embedded entity that is malformed
  inside may be returned; then the read of the fault raises.
- Flags and meanings are right, or raise the error of some part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given, note, settings, strategies as st

import lazyentity
from lazyentity import LazyEntity
from tests.backends.malformed import entity_of
from tests.support.parts import (
    assert_reads_like_its_parts,
    assert_same_parts,
    assert_some_failure,
    failures_in,
    failures_inside,
    stock_property,
)
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import EntityMessage, stock_entity
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.schema import ENTITY, VALUE

BALLAST = wire.BALLAST.encode()
SERIALISED = entities(Grammar(faulty=True, properties=4))


_TORN = entity_of("a", wire.Field(VALUE.double_value, wire.FIXED64, b"1"))
_SOUND = entity_of("a", wire.integer(VALUE.integer_value, 1))
_OVERRIDDEN = _TORN + _SOUND


@pytest.mark.parametrize("ballast", [b"", BALLAST], ids=["small", "large"])
def test_an_overridden_duplicate(lazy_type: type[LazyEntity], ballast: bytes) -> None:
    """Nobody can read the value that a later one overrides, so the entity as a whole is refused."""
    for _ in range(3):  # new names, then known ones
        with pytest.raises(DecodeError):
            lazy_type.from_bytes(_OVERRIDDEN + ballast)
    assert lazy_type.from_bytes(_SOUND + _SOUND + ballast) == {"a": 1}


NESTED_TWICE = (
    b"\x1a \n\x01a\x12\x1b2\x19\n\x05\n\x03\x12\x01p"
    b"\x1a\x07\n\x01a\x12\x02X\x00\x1a\x07\n\x01a\x12\x02X\x00"
)
"""An embedded entity that has one property twice."""


@example(raw=NESTED_TWICE, changes=[(23, b"\x00")])
@given(
    raw=SERIALISED, changes=st.lists(st.tuples(st.integers(0), st.binary(max_size=3)), max_size=3)
)
def test_changed_bytes(
    lazy_type: type[LazyEntity], raw: bytes, changes: list[tuple[int, bytes]]
) -> None:
    for offset, replacement in changes:
        position = offset % (len(raw) + 1)
        raw = raw[:position] + replacement + raw[position + len(replacement) :]
    assert_reads_like_its_parts(lazy_type, raw)


FIELDS = st.lists(
    st.builds(
        wire.Field,
        st.sampled_from([ENTITY.key, ENTITY.properties, ENTITY.properties, 2]),
        st.just(wire.DELIMITED),
        st.one_of(
            st.binary(max_size=10),
            st.lists(
                st.builds(
                    wire.Field, st.integers(1, 3), st.just(wire.DELIMITED), st.binary(max_size=10)
                ),
                max_size=3,
            ).map(wire.encode),
        ),
    ),
    max_size=4,
).map(wire.encode)


@st.composite
def _cut_out(draw: st.DrawFn) -> bytes:
    raw = draw(SERIALISED)
    start = draw(st.integers(0, len(raw)))
    return raw[start : draw(st.integers(start, len(raw)))]


@settings(max_examples=3 * settings().max_examples)
@given(raw=st.one_of(_cut_out(), st.binary(max_size=40), FIELDS))
def test_any_bytes(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """A part of an entity, random bytes, and such bytes where keys, names and values belong."""
    assert_reads_like_its_parts(lazy_type, raw)


FAULTY = entities(Grammar(faulty=True)) | entities(Grammar(odd=False, faulty=True))


@given(raw=FAULTY)
def test_each_part_is_as_stock_has_it(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """Each part gives stock's value or stock's exception, type and text; the others stay readable.

    A failed read changes nothing and fails the same way again.
    """
    assert_same_parts(lazy_type.from_bytes(raw), EntityMessage.FromString(raw))


@given(raw=FAULTY)
def test_a_fault_does_not_get_lost(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """Some access raises exactly if the stock client refuses the entity."""
    stock = outcome(lambda: stock_entity(raw))
    failures = list(failures_inside(lazy_type.from_bytes(raw)))
    assert bool(failures) == isinstance(stock, Raised)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "items": lambda entity: entity.items(),
    "values": lambda entity: entity.values(),
    "copy": lambda entity: entity.copy(),
    "or": lambda entity: entity | {},
    "ror": lambda entity: {} | entity,
    "eq": lambda entity: entity == dict.fromkeys(entity),
    "dict": dict,
    "materialize": lazyentity.materialize,
}


@given(raw=FAULTY)
def test_reading_everything(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """An operation that reads everything raises the error of some part, and changes no part."""
    message = EntityMessage.FromString(raw)
    parts = [stock_property(name, value) for name, value in message.properties.items()]
    is_refused = any(isinstance(part, Raised) for part in parts)
    # Each with every entity: drawing one takes longer than reading it in all of these ways.
    for name, read in WHOLE.items():
        note(name)
        lazy = lazy_type.from_bytes(raw)
        result = outcome(read, lazy)
        if is_refused:
            assert isinstance(result, Raised)
            assert_some_failure(result, failures_in(message))
        assert_same_parts(lazy, message)


def test_prefetch_stops_at_the_fault(lazy_type: type[LazyEntity]) -> None:
    """Properties decoded before the fault stay decoded, as if read one by one."""
    message = EntityMessage()
    message.properties["a"].integer_value = 1
    message.properties["bad"].meaning = 9
    message.properties["z"].integer_value = 2
    raw = message.SerializeToString()
    lazy = lazy_type.from_bytes(raw)
    with pytest.raises(ValueError, match="did not have any value set"):
        lazyentity.prefetch(lazy, "a", "bad", "z")
    assert lazyentity.decoded(lazy) == ("a",)
    assert snapshot(lazy["z"]) == snapshot(2)
