"""The functions of the library: materialize, raw, prefetch and decoded; wrong arguments of any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity
from lazyentity.readers import prepared_reader
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


def test_prefetch_of_a_missing_name_decodes_nothing(lazy_type: type[LazyEntity]) -> None:
    """A KeyError names the missing property before anything was decoded."""
    lazy = lazy_type.from_bytes(PLAIN)
    with pytest.raises(KeyError, match="missing"):
        lazyentity.prefetch(lazy, "text", "missing")
    assert lazyentity.decoded(lazy) == ()


def test_materialize_leaves_the_entity_lazy_inside(lazy_type: type[LazyEntity]) -> None:
    """The entity itself keeps its lazy embedded entities: containers of the plain one are new."""
    lazy = lazy_type.from_bytes(RICH)
    lazy["who"], lazy.exclude_from_indexes, lazy._meanings
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


def test_materialize_keeps_the_order(lazy_type: type[LazyEntity]) -> None:
    """A property that was taken out and set again is the last one, as in the entity."""
    for name in stock_entity(PLAIN):
        lazy = lazy_type.from_bytes(PLAIN)
        lazy[name] = lazy.pop(name)
        assert list(lazyentity.materialize(lazy)) == list(lazy)


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


CLIENT = datastore.Client(project="demo", credentials=AnonymousCredentials())
LAZY = lazyentity.LazyEntity.from_bytes(PLAIN)
STOCK = lazyentity.materialize(LAZY)
QUERY = CLIENT.query(kind="Order")

WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "a list of names, lazy": (lazyentity.to_dict, (LAZY, ["text"]), "unpack a list: *names"),
    "a list of names, stock": (lazyentity.to_dict, (STOCK, ["text"]), "unpack a list: *names"),
    "names to prefetch": (lazyentity.prefetch, (LAZY, ["text"]), "unpack a list: *names"),
    "clients": (lazyentity.patch, (["datastore"],), "unpack a list: *names"),
    "clients to unpatch": (lazyentity.unpatch, (["datastore"],), "unpack a list: *names"),
    "a query": (lazyentity.columns, (QUERY, ["text"]), "pass query.fetch()"),
    "a query for batches": (lazyentity.column_batches, (QUERY, ["text"]), "pass query.fetch()"),
    "no names": (lazyentity.columns, ([LAZY], None), "names must be several names"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    function, arguments, text = WRONG[name]
    with pytest.raises(TypeError) as raised:
        function(*arguments)
    assert text in str(raised.value)


@pytest.mark.parametrize("option", ["strict", "eager"])
@pytest.mark.parametrize(
    ("name", "function", "given"),
    [("wrap", lazyentity.wrap, (QUERY,)), ("patch", lazyentity.patch, ("datastore",))],
)
def test_switches(name: str, function: Any, given: tuple[Any, ...], option: str) -> None:
    text = rf"^{name}\(\) takes {option}= as True or False, not as str"
    with pytest.raises(TypeError, match=text):
        function(*given, **{option: "yes"})
    assert lazyentity.patched() == ()


@pytest.mark.parametrize(
    "function",
    [
        *(lazyentity.decoded, lazyentity.to_dict, lazyentity.raw, lazyentity.wrap),
        lambda model: lazyentity.columns([model], ["number"]),
    ],
)
def test_models_of_ndb(function: Any) -> None:
    ndb = pytest.importorskip("google.cloud.ndb")
    model = ndb.Model.__new__(type("Order", (ndb.Model,), {}))
    with pytest.raises(TypeError, match=r"\.Order; lazyentity.patch\(\) makes models lazy"):
        function(model)


def test_a_misspelt_name_to_prefetch() -> None:
    """One warning, once a hundred entities lack the property; rarer properties are no mistake."""
    prepare: Any = prepared_reader(["number", "nunber"], False).prepare
    for _ in range(99):
        prepare(lazyentity.LazyEntity.from_bytes(PLAIN))
    with pytest.warns(RuntimeWarning, match="first 100 entities have no property 'nunber'"):
        prepare(lazyentity.LazyEntity.from_bytes(PLAIN))
    prepare(lazyentity.LazyEntity.from_bytes(PLAIN))
