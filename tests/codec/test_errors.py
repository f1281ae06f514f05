"""Errors for bytes that cannot be decoded say where the bytes were; nothing takes their place."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity import LazyEntity
from tests.support.snapshots import outcome
from tests.support.stock import reparsed
from tests.support.strategies import wire
from tests.support.strategies.schema import (
    ARRAY,
    ENTITY,
    ENTRY,
    KEY,
    PARTITION,
    PATH_ELEMENT,
    VALUE,
)
from tests.support.strategies.wire import Field

GOOD_KEY = wire.message(
    ENTITY.key,
    wire.message(KEY.partition_id, wire.delimited(PARTITION.project_id, "p")),
    wire.message(
        KEY.path, wire.delimited(PATH_ELEMENT.kind, "Kind"), wire.delimited(PATH_ELEMENT.name, "n")
    ),
)
BAD_KEY = wire.delimited(ENTITY.key, b"\x0a\x05")
EMPTY_KEY = wire.message(ENTITY.key)


def property_field(name: str, value: bytes) -> Field:
    return wire.message(
        ENTITY.properties, wire.delimited(ENTRY.key, name), wire.delimited(ENTRY.value, value)
    )


MakeEntity = Callable[..., LazyEntity]

unread_parts = pytest.mark.needs_native("the pure one parses an entity as a whole")


@pytest.fixture(params=[[], [wire.BALLAST]], ids=["small", "large"])
def make(lazy_type: type[LazyEntity], request: pytest.FixtureRequest) -> MakeEntity:
    """Makes a small, or a large, entity of the fields given."""

    def make_entity(*fields: Field) -> LazyEntity:
        return lazy_type.from_bytes(wire.encode([*fields, *request.param]))

    return make_entity


GOOD = property_field("good", wire.integer(VALUE.integer_value, 1).encode())
CUT_OFF = wire.delimited(VALUE.string_value, "words").encode()[:-1]
NOT_UTF8 = wire.delimited(VALUE.string_value, b"\xff").encode()
UNSET = wire.integer(VALUE.meaning, 9).encode()
DISAGREEING = wire.message(
    VALUE.array_value,
    wire.message(ARRAY.values, wire.integer(VALUE.integer_value, 1)),
    wire.message(
        ARRAY.values,
        wire.integer(VALUE.integer_value, 1),
        wire.integer(VALUE.exclude_from_indexes, 1),
    ),
).encode()

READS: dict[str, Callable[[Any], object]] = {
    "[]": lambda e: e["bad"],
    "items": lambda e: e.items(),
    "prefetch": lambda e: lazyentity.prefetch(e, "bad"),
    "materialize": lazyentity.materialize,
}
"""Others raise the same errors: see test_corruption."""


@unread_parts
@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
@pytest.mark.parametrize("value", [CUT_OFF, NOT_UTF8], ids=["cut off", "not UTF-8"])
def test_malformed_value(make: MakeEntity, read: Callable[[Any], object], value: bytes) -> None:
    """A DecodeError names property and key; the entity stays as it was."""
    lazy = make(GOOD_KEY, GOOD, property_field("bad", value))
    for _ in range(2):
        with pytest.raises(DecodeError, match=r"'bad'.*Kind.*'n'"):
            read(lazy)
        assert lazyentity.decoded(lazy) == ()
        assert lazy.keys() == {"good", "bad"}
    assert lazy["good"] == 1
    assert lazy.key.name == "n"


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (UNSET, "Value protobuf did not have any value set"),
        (
            DISAGREEING,
            "For an array_value, subvalues must either "
            "all be indexed or all excluded from indexes.",
        ),
    ],
    ids=["unset", "flags disagree"],
)
def test_refused_value(
    make: MakeEntity, read: Callable[[Any], object], value: bytes, text: str
) -> None:
    """A ValueError has stock's text alone, and a note that names property and key."""
    lazy = make(GOOD_KEY, GOOD, property_field("bad", value))
    for _ in range(2):
        with pytest.raises(ValueError, match="value") as caught:
            read(lazy)
        assert str(caught.value) == text
        assert lazyentity.decoded(lazy) == ()
        shown = "".join(traceback.format_exception(caught.value))
        assert "'bad'" in shown.splitlines()[-1]
        assert "Kind" in shown.splitlines()[-1]
        # One note only, however often it was tried.
        assert shown.count("while decoding property 'bad'") == 1
    assert lazy["good"] == 1


@unread_parts
@pytest.mark.parametrize(
    ("key", "named", "error"),
    [
        ([BAD_KEY], "an entity whose key cannot be read", DecodeError),
        ([EMPTY_KEY], "an entity whose key cannot be read", ValueError),
        ([], "an entity without a key", None),
    ],
    ids=["malformed", "empty", "none"],
)
def test_key_that_cannot_be_named(
    make: MakeEntity, key: list[Field], named: str, error: type[Exception] | None
) -> None:
    """Errors say that there is no key, or that it cannot be read, and do not fail over that."""
    lazy = make(*key, GOOD, property_field("bad", CUT_OFF))
    with pytest.raises(DecodeError, match=f"'bad' of {named}"):
        lazy["bad"]
    read = outcome(getattr, lazy, "key")
    assert read is None if error is None else issubclass(read.kind, error)
    assert lazy["good"] == 1


def test_names_that_cannot_be_read(make: MakeEntity) -> None:
    """Without its names no entity can be made; the DecodeError says which entity it was."""
    bad = wire.message(ENTITY.properties, wire.delimited(ENTRY.key, b"\xff"))
    with pytest.raises(DecodeError, match=r"Kind.*'n'"):
        make(GOOD_KEY, GOOD, bad)


def test_embedded_entity(make: MakeEntity) -> None:
    """A fault inside of an embedded entity is met when that property of that entity is read."""
    inner = wire.encode([GOOD, property_field("bad", UNSET)])
    value = wire.delimited(VALUE.entity_value, inner).encode()
    lazy = make(GOOD_KEY, property_field("inner", value))
    assert lazy["inner"]["good"] == 1
    with pytest.raises(ValueError, match="did not have any value set"):
        lazy["inner"]["bad"]
    assert lazyentity.decoded(lazy["inner"]) == ("good",)


@pytest.mark.parametrize(
    "key",
    [pytest.param(BAD_KEY, marks=unread_parts), EMPTY_KEY],
    ids=["malformed", "empty"],
)
def test_a_bad_key_can_be_replaced(make: MakeEntity, key: Field) -> None:
    """An entity that is given another key can be written, without the old one being read."""
    lazy = make(key, GOOD)
    lazy.key = Key("Kind", "n", project="p")
    assert reparsed(lazyentity.raw(lazy)) == reparsed(lazyentity.raw(make(GOOD_KEY, GOOD)))
