"""materialize, raw, prefetch and decoded; wrong arguments of any operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity
from tests.support.snapshots import snapshot
from tests.support.stock import (
    EntityMessage,
    comparable,
    encoded,
    lazy_entities_in,
    reparsed,
    stock_entity,
)
from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN, RICH, plain_properties, serialise
from tests.support.strategies.schema import ENTITY, VALUE

OPERATIONS = [
    lazyentity.materialize,
    lazyentity.to_dict,
    lazyentity.raw,
    lazyentity.prefetch,
    lazyentity.decoded,
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"text": 1}, "dict"),
        (None, "NoneType"),
        (b"\x1a\x00", "bytes"),
        (EntityMessage(), "Entity"),
        (Key("Kind", 1, project="p"), "google.cloud.datastore.key.Key"),
        (LazyEntity, "type"),
    ],
)
def test_wrong_type(operation: Callable[[Any], object], given: object, named: str) -> None:
    """A TypeError names the function, the type given and the types accepted."""
    with pytest.raises(TypeError) as caught:
        operation(given)
    text = str(caught.value)
    assert text.startswith(f"{operation.__name__}()")
    assert text.endswith(named)
    assert "google.cloud.datastore.Entity" in text
    assert "lazyentity.LazyEntity" in text


# Stock entities.


def test_materialize_gives_a_stock_entity_back() -> None:
    """Code that calls materialize works with and without the patch."""
    stock = stock_entity(PLAIN)
    assert lazyentity.materialize(stock) is stock


def test_raw_of_stock() -> None:
    """A stock entity is encoded as the client encodes it."""
    stock = stock_entity(RICH)
    assert reparsed(lazyentity.raw(stock)) == encoded(stock)


def test_decoded_of_stock() -> None:
    """All properties of a stock entity are decoded."""
    stock = stock_entity(PLAIN)
    assert lazyentity.decoded(stock) == tuple(stock)


def test_prefetch_of_stock() -> None:
    """There is nothing to do for a stock entity, but a wrong name is still a wrong name."""
    stock = stock_entity(PLAIN)
    lazyentity.prefetch(stock, "text", "number")
    assert snapshot(stock) == snapshot(stock_entity(PLAIN))
    with pytest.raises(KeyError, match="missing"):
        lazyentity.prefetch(stock, "missing")


# Lazy entities.


def test_prefetch(lazy_type: type[LazyEntity]) -> None:
    """Those named are decoded, and told in the entity's order, not in that of the names."""
    lazy = lazy_type.from_bytes(PLAIN)
    lazyentity.prefetch(lazy, "number", "text", "number")
    assert lazyentity.decoded(lazy) == tuple(name for name in lazy if name in ("number", "text"))


def test_prefetch_of_a_missing_name_decodes_nothing(lazy_type: type[LazyEntity]) -> None:
    """A KeyError names the missing property before anything was decoded."""
    lazy = lazy_type.from_bytes(PLAIN)
    with pytest.raises(KeyError, match="missing"):
        lazyentity.prefetch(lazy, "text", "missing")
    assert lazyentity.decoded(lazy) == ()


def test_decoded_counts_what_was_assigned(lazy_type: type[LazyEntity]) -> None:
    """Names decoded or assigned so far; deleted ones are gone."""
    lazy = lazy_type.from_bytes(PLAIN)
    lazy["new"] = 1
    lazy["number"] = 2
    lazy["text"]
    assert set(lazyentity.decoded(lazy)) == {"text", "number", "new"}
    del lazy["number"]
    assert lazyentity.decoded(lazy) == ("text", "new")


def test_materialize_leaves_the_entity_lazy_inside(lazy_type: type[LazyEntity]) -> None:
    """The entity itself keeps its lazy embedded entities: containers of the plain one are new."""
    lazy = lazy_type.from_bytes(RICH)
    lazy["who"]
    plain = lazyentity.materialize(lazy)
    assert type(plain) is Entity
    assert type(lazy["inner"]) is lazy_type
    assert plain["inner"] is not lazy["inner"]
    assert plain["inners"] is not lazy["inners"]
    assert plain["who"] is lazy["who"]
    plain["inners"].append(1)
    plain.exclude_from_indexes.add("text")
    plain._meanings.clear()
    assert snapshot(lazy) == snapshot(stock_entity(RICH))


def test_materialize_leaves_properties_undecoded(lazy_type: type[LazyEntity]) -> None:
    lazy = lazy_type.from_bytes(RICH)
    name = next(iter(lazy))
    lazy[name]
    made = lazyentity.materialize(lazy)
    assert list(made) == list(lazy)
    assert lazyentity.decoded(lazy) == (name,)


def test_materialize_keeps_attributes(lazy_type: type[LazyEntity]) -> None:
    """Attributes that the caller added go along."""
    lazy: Any = lazy_type.from_bytes(PLAIN)
    lazy.remark = "kept"
    plain: Any = lazyentity.materialize(lazy)
    assert plain.remark == "kept"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: [inner],
        lambda inner: {"key": inner},
        lambda inner: [[{"key": [inner]}]],
        lambda inner: _stock_holding(inner),
        lambda inner: [_stock_holding([inner])],
    ],
    ids=["list", "dict", "deep", "stock entity", "stock entity in a list"],
)
def test_materialize_what_was_assigned(
    lazy_type: type[LazyEntity], wrap: Callable[[Any], Any]
) -> None:
    """Lazy entities that the caller put into lists, dicts and entities become plain as well."""
    lazy = lazy_type.from_bytes(PLAIN)
    lazy["held"] = wrap(lazy_type.from_bytes(RICH))
    plain = lazyentity.materialize(lazy)
    assert lazy_entities_in(plain) == []
    assert snapshot(plain["held"]) == snapshot(wrap(stock_entity(RICH)))


def _stock_holding(value: Any) -> Entity:
    holder = Entity()
    holder["value"] = value
    return holder


# raw() with changes.

UNKNOWN = wire.delimited(99, b"kept")
WITH_UNKNOWN = b"".join(
    [
        PLAIN,
        UNKNOWN.encode(),
        wire.message(
            ENTITY.properties,
            wire.delimited(1, "unusual"),
            wire.message(2, wire.delimited(VALUE.string_value, "value"), UNKNOWN),
        ).encode(),
    ]
)


def _changed_message(change: Callable[[Any], object]) -> Any:
    message = EntityMessage.FromString(WITH_UNKNOWN)
    change(message)
    return comparable(message)


def test_raw_keeps_unknown_fields(lazy_type: type[LazyEntity]) -> None:
    """Fields of a newer server, beside and inside properties, survive other changes."""
    lazy = lazy_type.from_bytes(WITH_UNKNOWN)
    assert reparsed(lazyentity.raw(lazy)) == reparsed(WITH_UNKNOWN)
    lazy["number"] = 43
    del lazy["text"]
    lazy["new"] = "new"

    def change(message: Any) -> None:
        message.properties["number"].Clear()
        message.properties["number"].integer_value = 43
        del message.properties["text"]
        message.properties["new"].string_value = "new"

    assert reparsed(lazyentity.raw(lazy)) == _changed_message(change)


def test_raw_of_a_read_property_is_stocks(lazy_type: type[LazyEntity]) -> None:
    """A property that was read is encoded by the client, with its meaning and flag."""
    lazy = lazy_type.from_bytes(PLAIN)
    for name in lazy:
        lazy[name]
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock_entity(PLAIN))


@pytest.mark.parametrize("read", [(), ("text",), tuple(plain_properties())], ids=str)
@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.exclude_from_indexes.add("ratio"),
        lambda e: e.exclude_from_indexes.discard("text"),
        lambda e: e.exclude_from_indexes.update({"list", "inner", "empty", "absent"}),
        lambda e: setattr(e, "exclude_from_indexes", {"number"}),
        lambda e: setattr(e, "exclude_from_indexes", ["number"]),
        lambda e: setattr(e, "exclude_from_indexes", ()),
    ],
    ids=["added", "removed", "many", "replaced", "a list", "a tuple"],
)
def test_raw_with_changed_flags(
    lazy_type: type[LazyEntity], change: Callable[[Any], object], read: tuple[str, ...]
) -> None:
    """Flags go out as the caller left them, for properties that were never read as well."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for name in read:
        lazy[name]
    change(lazy)
    change(stock)
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock)


@pytest.mark.parametrize(
    "key",
    [
        Key("Kind", "name", project="p"),
        Key("Kind", 2, project="p"),
        Key("Kind", project="p"),
        Key("Kind", "name", project="other"),
        Key("Kind", "name", project="p", namespace="n"),
        Key("Kind", "name", project="p", database="d"),
        None,
    ],
    ids=["equal", "other", "partial", "project", "namespace", "database", "none"],
)
def test_raw_with_another_key(lazy_type: type[LazyEntity], key: Key | None) -> None:
    """The caller's key is written, without decoding a property."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    lazy.key = stock.key = key
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock)
    assert lazyentity.decoded(lazy) == ()


def test_raw_after_completing_a_partial_key(lazy_type: type[LazyEntity]) -> None:
    """A partial key, as entities have before they are put, can be read, kept and completed."""
    message = EntityMessage.FromString(PLAIN)
    del message.key.path[:]
    message.key.path.add(kind="Kind")
    lazy = lazy_type.from_bytes(message.SerializeToString())
    assert lazy.key.is_partial
    assert reparsed(lazyentity.raw(lazy)) == comparable(message)
    lazy.key = lazy.key.completed_key(7)
    message.key.path[0].id = 7
    assert reparsed(lazyentity.raw(lazy)) == comparable(message)


@pytest.mark.parametrize("name", plain_properties())
def test_raw_without_a_property(lazy_type: type[LazyEntity], name: str) -> None:
    """A deleted property is not written."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    del lazy[name]
    del stock[name]
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock)


def test_raw_with_changed_meanings(lazy_type: type[LazyEntity]) -> None:
    """Meanings that the caller removes or adds are removed and added, as stock writes them."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for entity in (lazy, stock):
        del entity._meanings["number"]
        entity._meanings["text"] = (15, entity["text"])
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock)


def test_raw_drops_the_meaning_of_a_replaced_value(lazy_type: type[LazyEntity]) -> None:
    """A meaning belongs to the value that was read, not to the one that took its place."""
    raw = serialise({"list": [1, 2]}, meanings={"list": (9, None)})
    lazy, stock = lazy_type.from_bytes(raw), stock_entity(raw)
    for entity in (lazy, stock):
        entity["list"] = list(entity["list"])
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock)


def test_raw_keeps_the_meaning_of_a_value_changed_in_place(lazy_type: type[LazyEntity]) -> None:
    """The list that was read is still the one that was read after an element was appended."""
    raw = serialise({"list": [1, 2]}, meanings={"list": (9, None)})
    lazy, stock = lazy_type.from_bytes(raw), stock_entity(raw)
    for entity in (lazy, stock):
        entity["list"].append(3)
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock)


def test_raw_of_changes_inside_an_embedded_entity(lazy_type: type[LazyEntity]) -> None:
    """A changed embedded entity is written with its changes."""
    lazy, stock = lazy_type.from_bytes(RICH), stock_entity(RICH)
    for entity in (lazy, stock):
        entity["inner"]["deep"].append("more")
        entity["inners"][1]["new"] = True
        entity["inners"][0].exclude_from_indexes.clear()
    for name in lazy:
        lazy[name]
    assert reparsed(lazyentity.raw(lazy)) == encoded(stock)


def test_raw_of_what_datastore_has_no_type_for(lazy_type: type[LazyEntity]) -> None:
    """The client's own ValueError."""
    lazy = lazy_type.from_bytes(PLAIN)
    lazy["text"] = object()
    with pytest.raises(ValueError, match="Unknown protobuf attr type"):
        lazyentity.raw(lazy)


def test_raw_can_be_read_again(lazy_type: type[LazyEntity]) -> None:
    """The bytes make an equal entity."""
    lazy = lazy_type.from_bytes(PLAIN)
    lazy["new"] = [1, {"deep": None}]
    lazy.exclude_from_indexes.add("new")
    written = lazyentity.raw(lazy)
    assert lazy_type.from_bytes(written) == stock_entity(written)
    assert lazy_type.from_bytes(written)["new"] == [1, {"deep": None}]
    assert lazy_type.from_bytes(written).exclude_from_indexes == {"text", "new"}
