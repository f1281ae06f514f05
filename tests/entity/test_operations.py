"""materialize, raw, prefetch and decoded; wrong arguments of any operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity
from tests.entity.consumption import holding
from tests.support.snapshots import snapshot
from tests.support.stock import (
    EntityMessage,
    encoded,
    lazy_entities_in,
    reparsed,
    stock_entity,
)
from tests.support.strategies.samples import PLAIN, RICH

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


def test_stock_entities() -> None:
    """Code works with and without the patch; a wrong name is still a wrong name."""
    stock = stock_entity(RICH)
    assert lazyentity.materialize(stock) is stock
    assert reparsed(lazyentity.raw(stock)) == encoded(stock)
    assert lazyentity.decoded(stock) == tuple(stock)
    lazyentity.prefetch(stock, "text", "who")
    with pytest.raises(KeyError, match="missing"):
        lazyentity.prefetch(stock, "missing")
    assert snapshot(stock) == snapshot(stock_entity(RICH))


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


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: [inner],
        lambda inner: {"key": inner},
        lambda inner: [[{"key": [inner]}]],
        holding,
        lambda inner: [holding([inner])],
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
