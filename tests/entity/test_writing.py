"""An entity is written as the message that the client makes, or raises the client's error."""

from __future__ import annotations

import datetime
import enum
import zoneinfo
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from proto.datetime_helpers import DatetimeWithNanoseconds

import lazyentity
from lazyentity import LazyEntity
from lazyentity.encoding import entity_message
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import EntityMessage, comparable, stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN, RICH


class _Text(str):
    pass


class _Bytes(bytes):
    pass


class _Float(float):
    pass


class _List(list):  # type: ignore[type-arg]  # any list subclass
    pass


class _Dict(dict):  # type: ignore[type-arg]  # any dict subclass
    pass


class _OtherEntity(Entity):
    pass


class _OtherKey(Key):
    pass


class _Colour(str, enum.Enum):
    RED = "red"


class _Level(enum.IntEnum):
    HIGH = 3


class _Index:
    def __index__(self) -> int:
        return 5


_UTC = datetime.timezone.utc
_EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))

TIMESTAMPS = st.one_of(
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from([_UTC, _EAST, zoneinfo.ZoneInfo("Europe/Berlin")])),
    st.builds(
        DatetimeWithNanoseconds,
        st.integers(1, 9999),
        st.integers(1, 12),
        st.integers(1, 28),
        st.integers(0, 23),
        nanosecond=st.integers(0, 999_999_999),
        tzinfo=st.sampled_from([None, _UTC, _EAST]),
    ),
)
TEXT = st.text(st.characters(), max_size=4)
IDS = st.one_of(st.integers(-1, 2**64), st.text(max_size=3))
KEYS = st.sampled_from(
    [
        Key("Kind", 7, project="p"),
        Key("Kind", project="p"),
        Key("Kind", "name", "Child", 1, project="p", namespace="n", database="d"),
        Key("Kind", 0, project="p"),
        Key("Kind", 2**63, project="p"),
        _OtherKey("Kind", 7, project="p"),  # type: ignore[no-untyped-call]  # upstream is untyped
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) - 1, 2**63),
    st.floats(),
    TEXT,
    st.text(st.characters(categories=["Cs"]), min_size=1, max_size=1),
    st.binary(max_size=4),
    TIMESTAMPS,
    KEYS,
    st.builds(GeoPoint, st.floats(), st.one_of(st.floats(), st.integers(-90, 90), st.none())),
    st.builds(_Text, TEXT),
    st.builds(_Bytes, st.binary(max_size=4)),
    st.builds(_Float, st.floats()),
    st.sampled_from([_Colour.RED, _Level.HIGH, Decimal("1.5"), _Index(), object, (1, 2), {1}]),
    st.sampled_from([bytearray(b"x"), memoryview(b"x"), datetime.date(2024, 1, 1), 1j]),
)
NAMES = st.one_of(st.sampled_from(["a", "b", "c", ""]), TEXT)
# Odd names: each may be refused or accepted.
ODD_NAMES = st.one_of(
    NAMES, st.sampled_from([b"a", b"\xff", 5, None, True, _Text("a"), _Colour.RED, "\ud800"])
)


def _entities(values: st.SearchStrategy[Any], names: st.SearchStrategy[Any]) -> Any:
    def make(
        kind: type[Entity],
        key: Key | None,
        properties: dict[Any, Any],
        excluded: set[str],
        meanings: dict[str, Any],
    ) -> Any:
        entity: Any = kind(key=key, exclude_from_indexes=tuple(excluded))
        entity.update(properties)
        entity._meanings.update(
            {name: (meaning, entity.get(name)) for name, meaning in meanings.items()}
        )
        return entity

    meaning = st.one_of(st.none(), st.sampled_from([0, 9, 15, -1, 2**31, "x"]))
    return st.builds(
        make,
        st.sampled_from([Entity, Entity, LazyEntity, _OtherEntity]),
        st.one_of(st.none(), KEYS),
        st.dictionaries(names, values, max_size=4),
        st.sets(NAMES, max_size=3),
        st.dictionaries(
            NAMES,
            st.one_of(
                meaning,
                st.lists(meaning, max_size=3),
                st.tuples(meaning, st.one_of(st.none(), st.lists(meaning, max_size=3))),
            ),
            max_size=2,
        ),
    )


def _containers(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    dicts = st.dictionaries(NAMES, values, max_size=3)
    return st.one_of(
        st.lists(values, max_size=3),
        dicts,
        st.dictionaries(ODD_NAMES, values, max_size=2),
        _entities(values, NAMES),
        st.builds(_List, st.lists(values, max_size=2)),
        dicts.map(_Dict),
        dicts.map(OrderedDict),
        dicts.map(lambda properties: defaultdict(None, properties)),
        dicts.map(UserDict),
        st.tuples(values),
    )


VALUES = st.recursive(SCALARS, _containers, max_leaves=6)


def _both_alike(entity: Entity) -> Any:
    expected = outcome(lambda: comparable(helpers.entity_to_protobuf(entity)._pb))
    assert outcome(lambda: comparable(entity_message(entity))) == expected
    return expected


@given(entity=_entities(VALUES, NAMES))
def test_any_values(entity: Entity) -> None:
    """The message, or the type and text of the error, is the client's for values of any type."""
    _both_alike(entity)


@given(entity=_entities(SCALARS, ODD_NAMES))
def test_any_names(entity: Entity) -> None:
    """Names that are not str are accepted or refused as by the client."""
    _both_alike(entity)


@pytest.mark.parametrize("excluded", [("a",), ["a"], "a", frozenset("a"), {"a": 1}, None, 5])
@pytest.mark.parametrize("value", ["x", [], ["x", 1], object])
def test_any_flags(excluded: Any, value: Any) -> None:
    """``exclude_from_indexes`` may be any object that supports ``in``."""
    entity: Any = Entity()
    entity["a"] = value
    entity.exclude_from_indexes = excluded
    _both_alike(entity)


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


@given(value=VALUES)
def test_assigned_to_a_lazy_entity(value: Any) -> None:
    """One value that is refused leaves a lazy entity as it was; it can be written without it."""
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
    assert snapshot(stock_entity(message.SerializeToString())) == snapshot(
        stock_entity(helpers.entity_to_protobuf(stock)._pb.SerializeToString())
    )


@pytest.mark.parametrize("raw", [PLAIN, RICH], ids=["plain", "rich"])
@pytest.mark.parametrize("read", ["nothing", "all"])
def test_other_flags(lazy_type: type[LazyEntity], raw: bytes, read: str) -> None:
    """A property whose flag is changed keeps its meaning, read or not."""
    stock, lazy = stock_entity(raw), lazy_type.from_bytes(raw)
    if read == "all":
        lazy.items()
    for name in stock:
        stock.exclude_from_indexes = {name}
        lazy.exclude_from_indexes = {name}
        expected = comparable(helpers.entity_to_protobuf(stock)._pb)
        assert comparable(entity_message(lazy)) == expected


class _Only:
    """Supports only ``in``."""

    def __contains__(self, name: str) -> bool:
        return "e" in name


@pytest.mark.parametrize(
    "flags", ["text", "number text", ("text",), {"text": 1}, [["x"], "text"], _Only(), None, 5]
)
def test_flags_of_any_kind(lazy_type: type[LazyEntity], flags: Any) -> None:
    """``in`` decides for each name, read or not, and its errors are the same."""
    stock: Any = stock_entity(PLAIN)
    lazy: Any = lazy_type.from_bytes(PLAIN)
    stock.exclude_from_indexes = lazy.exclude_from_indexes = flags
    expected = outcome(lambda: comparable(helpers.entity_to_protobuf(stock)._pb))
    assert outcome(lambda: comparable(entity_message(lazy))) == expected


@pytest.mark.parametrize("read", ["nothing", "number", "all"])
def test_other_meanings(lazy_type: type[LazyEntity], read: str) -> None:
    """Meanings that are replaced, emptied or added to are the ones that are written."""
    for change in ("emptied", "another", "added"):
        stock: Any = stock_entity(PLAIN)
        lazy: Any = lazy_type.from_bytes(PLAIN)
        if read == "all":
            lazy.items()
        elif read == "number":
            assert lazy["number"] == 42
        for entity in (stock, lazy):
            match change:
                case "emptied":
                    entity._meanings = {}
                case "another":
                    entity._meanings = {"text": (15, entity["text"])}
                case "added":
                    entity._meanings["text"] = (15, entity["text"])
        expected = comparable(helpers.entity_to_protobuf(stock)._pb)
        assert comparable(entity_message(lazy)) == expected


class _SpeakingKey(Key):
    def to_protobuf(self) -> Any:
        return Key("Spoken", 1, project="p").to_protobuf()


def _renamed(entity: Any) -> None:
    entity.key._path[-1]["name"] = "other"


def _moved(entity: Any) -> None:
    entity.key._namespace = "other"


def _of_another_class(entity: Any) -> None:
    entity.key = _SpeakingKey(*entity.key.flat_path, project="p")  # type: ignore[no-untyped-call]  # upstream is untyped


@pytest.mark.parametrize("change", [_renamed, _moved, _of_another_class])
def test_other_keys(lazy_type: type[LazyEntity], change: Callable[[Any], None]) -> None:
    """A key that was changed past its public attributes is written with the changes."""
    stock, lazy = stock_entity(PLAIN), lazy_type.from_bytes(PLAIN)
    change(stock)
    change(lazy)
    assert entity_message(lazy).key == helpers.entity_to_protobuf(stock)._pb.key


def test_what_was_not_read_goes_back_as_it_came(lazy_type: type[LazyEntity]) -> None:
    """Unread properties keep the parts that stock loses."""
    message = EntityMessage()
    properties = message.properties
    properties["changed"].integer_value = 1
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
    lazy["changed"] = 2
    message.properties["changed"].integer_value = 2
    assert comparable(entity_message(lazy)) == comparable(message)
    stock = stock_entity(raw)
    stock["changed"] = 2
    written = helpers.entity_to_protobuf(stock)._pb.properties
    assert all(
        comparable(written[name]) != comparable(value)
        for name, value in message.properties.items()
        if name != "changed"
    )


MALFORMED = PLAIN + b"\x1a\x08\n\x03bad\x12\x01\x08"
"""With a property whose value is cut off."""


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
