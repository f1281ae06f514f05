"""An entity is written as the message that the client makes, or raises the client's error."""

from __future__ import annotations

import random
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError
from hypothesis import given, settings, strategies as st

import lazyentity
from lazyentity import LazyEntity
from lazyentity.encoding import _encodable_of, entity_message
from tests.conftest import BACKENDS
from tests.fuzz import values
from tests.support.snapshots import Raised, outcome
from tests.support.stock import (
    EntityMessage,
    comparable,
    content,
    encoded,
    reparsed,
    stock_entity,
)
from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN, RICH

SEEDS = st.integers(0, 2**32 - 1)


class _OtherEntity(Entity):
    pass


def _value(chance: random.Random) -> Any:
    return values.value(chance, lambda chance: _entity(chance, values.ODD_NAMES, depth=1))


def _entity(chance: random.Random, names: tuple[Any, ...] = values.NAMES, depth: int = 3) -> Entity:
    kind = chance.choice((Entity, LazyEntity, _OtherEntity))
    items = [_value(chance) if depth > 1 else 1 for _ in range(chance.randint(0, 4))]
    return values.entity_with(chance, items, kind, names)


def _both_alike(entity: Entity) -> Any:
    expected = outcome(lambda: encoded(entity))
    assert outcome(lambda: comparable(entity_message(entity))) == expected
    for backend in BACKENDS.values():
        serialised = outcome(lambda: backend.serialise_entity(entity, _encodable_of)[0])  # noqa: B023  # called here
        assert _parsed(serialised) == _parsed(expected)
    return expected


def _parsed(written: Any) -> Any:
    # The client writes entities with more levels than any parser reads.
    return written if isinstance(written, Raised) else outcome(reparsed, written)


@settings(max_examples=3 * settings().max_examples)
@given(seed=SEEDS, names=st.sampled_from([values.NAMES, (*values.NAMES, *values.ODD_NAMES)]))
def test_any_values(seed: int, names: tuple[Any, ...]) -> None:
    """The message, or the type and text of the error, is the client's for any values and names."""
    _both_alike(_entity(random.Random(seed), names))


@pytest.mark.parametrize("excluded", [("a",), ["a"], "a", frozenset("a"), {"a": 1}, None, 5])
@pytest.mark.parametrize("value", ["x", [], ["x", 1], object])
def test_any_flags(excluded: Any, value: Any) -> None:
    """``exclude_from_indexes`` may be any object that supports ``in``."""
    entity: Any = Entity()
    entity["a"] = value
    entity.exclude_from_indexes = excluded
    _both_alike(entity)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_key_of_a_value_changes_its_flag(backend: str) -> None:
    """The client asks for a property's flag after its value was encoded."""

    class Excluding(Key):
        def to_protobuf(self) -> Any:
            entity.exclude_from_indexes.add("inner")
            return super().to_protobuf()  # type: ignore[no-untyped-call]  # of the client

    entity: Any = Entity()
    kind: Any = Excluding
    entity["inner"] = Entity(kind("Kind", 1, project="p"))
    written, *_ = BACKENDS[backend].serialise_entity(entity, _encodable_of)
    entity.exclude_from_indexes.clear()
    assert reparsed(encoded(entity)) == reparsed(written)
    assert EntityMessage.FromString(written).properties["inner"].exclude_from_indexes


def test_deep_nesting() -> None:
    """Deeper than protobuf's parsers go, the message is still the client's."""
    value: Any = 1
    for _ in range(60):
        value = {"inner": [value]}
    entity: Any = Entity()
    entity["deep"] = value
    assert not isinstance(_both_alike(entity), Raised)


def test_a_value_inside_itself() -> None:
    """A container that holds itself is refused as the client refuses it."""
    value: dict[str, Any] = {}
    value["self"] = value
    entity: Any = Entity()
    entity["endless"] = value
    for encode in (helpers.entity_to_protobuf, entity_message):
        with pytest.raises(RecursionError):
            encode(entity)


@given(seed=SEEDS)
def test_assigned_to_a_lazy_entity(seed: int) -> None:
    """One value that is refused leaves a lazy entity as it was; it can be written without it."""
    value = _value(random.Random(seed))
    stock, lazy = stock_entity(RICH), LazyEntity.from_bytes(RICH)
    stock["text"] = lazy["text"] = value
    expected = outcome(lambda: helpers.entity_to_protobuf(stock))
    before = lazyentity.decoded(lazy)
    message = outcome(lambda: entity_message(lazy))
    assert lazyentity.decoded(lazy) == before
    if isinstance(expected, Raised):
        assert message == expected
        del stock["text"], lazy["text"]
        message = entity_message(lazy)
    assert comparable(message) == encoded(stock)


def test_what_was_not_read_goes_back_as_it_came(lazy_type: type[LazyEntity]) -> None:
    """Unread properties keep the parts that stock loses."""
    message = EntityMessage()
    properties = message.properties
    properties["changed"].integer_value = 1
    properties["gone"].integer_value = 1
    properties["timestamp"].timestamp_value.nanos = 123_456_789
    properties["empty"].array_value.SetInParent()
    properties["empty"].exclude_from_indexes = True
    inner = properties["nested"].array_value.values.add().array_value.values.add()
    inner.string_value = "inner"
    inner.meaning = 15
    unknown = wire.integer(1000, 5).encode()
    properties["unknown"].string_value = "known"
    properties["unknown"].MergeFromString(unknown)
    message.MergeFromString(unknown)
    raw = message.SerializeToString()
    lazy: Any = lazy_type.from_bytes(raw)
    assert content(lazyentity.raw(lazy)) == content(raw)
    lazy.update(changed=2, new=3)
    del lazy["gone"]
    message.properties["changed"].integer_value = 2
    message.properties["new"].integer_value = 3
    del message.properties["gone"]
    assert comparable(entity_message(lazy)) == reparsed(lazyentity.raw(lazy)) == comparable(message)
    stock = stock_entity(raw)
    stock.update(changed=2, new=3)
    written = helpers.entity_to_protobuf(stock)._pb.properties
    assert all(
        comparable(written[name]) != comparable(value)
        for name, value in message.properties.items()
        if name not in ("changed", "new")
    )


unread_parts = pytest.mark.needs_native("the pure one parses an entity as a whole")
MALFORMED = PLAIN + b"\x1a\x08\n\x03bad\x12\x01\x08"
"""With a property whose value is cut off."""


@unread_parts
def test_something_malformed_is_not_sent(lazy_type: type[LazyEntity]) -> None:
    """A malformed property is refused, with the key of the entity, until it is deleted."""
    lazy: Any = lazy_type.from_bytes(MALFORMED)
    lazy["number"] = 2
    for _ in range(2):
        with pytest.raises(DecodeError, match="Key"):
            entity_message(lazy)
    lazy["bad"] = 3
    # Its index flag cannot be read.
    with pytest.raises(DecodeError, match="property 'bad' of the entity <Key"):
        entity_message(lazy)
    del lazy["bad"]
    written = stock_entity(entity_message(lazy).SerializeToString())
    assert (written["number"], written["text"]) == (2, "Grüße")


@unread_parts
def test_something_malformed_is_passed_on(lazy_type: type[LazyEntity]) -> None:
    """``raw()`` keeps malformed parts as received, beside the changed ones."""
    lazy: Any = lazy_type.from_bytes(MALFORMED)
    lazy["number"] = 2
    del lazy["text"]
    again = lazy_type.from_bytes(lazyentity.raw(lazy))
    assert again.keys() == lazy.keys()
    assert again["number"] == 2
    with pytest.raises(DecodeError, match="bad"):
        again["bad"]
