"""Strict entities return prefetched and assigned properties, and decode no others."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity

import lazyentity
from lazyentity import LazyEntity
from lazyentity.readers import make_strict
from tests.support.stock import content, encoded, reparsed, stock_entity
from tests.support.strategies.samples import PLAIN, RICH, plain_properties, serialise


def strict(lazy_type: type[LazyEntity], raw: bytes, *names: str) -> Any:
    entity = lazy_type.from_bytes(raw)
    lazyentity.prefetch(entity, *names)
    make_strict(entity)
    return entity


def matched(entity: Any) -> object:
    match entity:
        case {"ratio": value}:
            return value
    return None


# The error names the operation, or the property if Python reads one after the other.
REFUSED: dict[str, tuple[str, Callable[[Any], object]]] = {
    "[]": ("property 'ratio' of", lambda e: e["ratio"]),
    "get": ("property 'ratio' of", lambda e: e.get("ratio")),
    "get with a default": ("property 'ratio' of", lambda e: e.get("ratio", 1)),
    "pop": ("property 'ratio' of", lambda e: e.pop("ratio")),
    "pop with a default": ("property 'ratio' of", lambda e: e.pop("ratio", 1)),
    "setdefault": ("property 'ratio' of", lambda e: e.setdefault("ratio", 1)),
    "match": ("property 'ratio' of", matched),
    "format_map": ("property 'ratio' of", lambda e: "{ratio}".format_map(e)),
    "items": ("items()", lambda e: e.items()),
    "values": ("values()", lambda e: e.values()),
    "copy()": ("copy()", lambda e: e.copy()),
    "== an equal stock entity": ("==", lambda e: e == stock_entity(PLAIN)),
    "an equal stock entity ==": ("==", lambda e: stock_entity(PLAIN) == e),
    "== a lazy entity": ("==", lambda e: e == lazyentity.LazyEntity.from_bytes(PLAIN)),
    "a lazy entity ==": ("==", lambda e: lazyentity.LazyEntity.from_bytes(PLAIN) == e),
    "!=": ("==", lambda e: e != stock_entity(PLAIN)),
    "== a dict": ("==", lambda e: e == {}),
    "a dict ==": ("==", lambda e: plain_properties() == e),
    "repr": ("repr()", repr),
    "str": ("repr()", str),
    "format": ("repr()", lambda e: f"{e}"),
    "|": ("|", lambda e: e | {}),
    "dict |": ("|", lambda e: {} | e),
    "dict |=": ("property", lambda e: {}.__ior__(e)),
    "dict.update": ("property", lambda e: {}.update(e)),
    "dict()": ("property", dict),
    "{**e}": ("property", lambda e: {**e}),
    "f(**e)": ("property", lambda e: dict(**e)),
    "copy": ("a copy or pickle", copy.copy),
    "deepcopy": ("a copy or pickle", copy.deepcopy),
    "pickle": ("a copy or pickle", pickle.dumps),
    "pickle, protocol 0": ("a copy or pickle", lambda e: pickle.dumps(e, 0)),
    "json": ("items()", json.dumps),
    "json, indented": ("items()", lambda e: json.dumps(e, indent=1)),
    "materialize": ("materialize()", lazyentity.materialize),
}


@pytest.mark.parametrize(("named", "operation"), REFUSED.values(), ids=REFUSED.keys())
def test_reading_is_refused(
    lazy_type: type[LazyEntity], named: str, operation: Callable[[Any], Any]
) -> None:
    """An operation that would decode raises, naming itself or the property, and the key."""
    entity = strict(lazy_type, PLAIN, "text")
    with pytest.raises(RuntimeError, match="prefetched, and the query or client is strict") as no:
        operation(entity)
    assert str(no.value).startswith(f"{named} ")
    assert f"the entity {entity.key!r}" in str(no.value)
    assert lazyentity.decoded(entity) == ("text",)
    assert entity.keys() == plain_properties().keys()


def test_other_threads_are_refused_meanwhile(lazy_type: type[LazyEntity]) -> None:
    """While a property is decoded by request, the entity is as strict as ever."""
    entity = strict(lazy_type, PLAIN)
    kinds = {type(entity)}
    refused = []

    class Name(str):
        """Compared while the entity looks for it, as another thread may come in between."""

        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            kinds.add(type(entity))
            with pytest.raises(RuntimeError, match="'ratio'"):
                entity["ratio"]
            refused.append(other)
            return str.__eq__(self, other)

    lazyentity.prefetch(entity, Name("number"))
    assert refused
    assert kinds == {lazy_type}
    assert lazyentity.decoded(entity) == ("number",)


def test_what_was_prefetched_or_assigned_is_read(lazy_type: type[LazyEntity]) -> None:
    for read in ("__getitem__", "get", "setdefault", "pop"):
        value = getattr(strict(lazy_type, PLAIN, "text"), read)("text")
        assert value == plain_properties()["text"]
    entity = strict(lazy_type, PLAIN)
    entity["text"] = "assigned"
    entity.update(ratio=2.5)
    assert entity.setdefault("new", 1) == 1
    assert (entity["text"], entity.get("ratio"), entity["new"]) == ("assigned", 2.5, 1)
    assert entity.popitem() == ("new", 1)


def test_missing_names_are_missing(lazy_type: type[LazyEntity]) -> None:
    """A missing name raises KeyError, not the refusal of an unread one."""
    entity = strict(lazy_type, PLAIN)
    with pytest.raises(KeyError, match="absent"):
        entity["absent"]
    with pytest.raises(KeyError, match="absent"):
        entity.pop("absent")
    assert entity.get("absent", 1) == 1
    assert entity.pop("absent", 2) == 2
    with pytest.raises(KeyError):
        strict(lazy_type, b"").popitem()
    with pytest.raises(TypeError, match="unhashable"):
        entity[[]]


def test_what_decodes_nothing_is_not_refused(lazy_type: type[LazyEntity]) -> None:
    entity, stock = strict(lazy_type, PLAIN), stock_entity(PLAIN)
    names = list(plain_properties())
    assert (len(entity), bool(entity), set(entity)) == (len(names), True, set(names))
    assert "text" in entity
    assert entity.keys() == set(names)
    assert list(reversed(entity)) == list(entity)[::-1]
    assert (entity.key, entity.kind, entity.id) == (stock.key, stock.kind, stock.id)
    assert entity.exclude_from_indexes == {"text"}
    assert entity != Entity()
    assert entity != 1
    del entity["text"]
    entity |= {"ratio": 1}
    assert lazyentity.decoded(entity) == ("ratio",)
    entity.clear()
    assert len(entity) == 0


def test_prefetch_by_hand_decodes(lazy_type: type[LazyEntity]) -> None:
    """prefetch() decodes by explicit request; the entity stays strict."""
    entity = strict(lazy_type, RICH)
    lazyentity.prefetch(entity, "inner", "inners")
    assert lazyentity.decoded(entity) == tuple(e for e in entity if e in ("inner", "inners"))
    for inner in (entity["inner"], *entity["inners"]):
        assert type(inner) is lazy_type
        assert lazyentity.decoded(inner) == ()
        assert inner == stock_entity(RICH)["inner"]
    with pytest.raises(RuntimeError, match="'text'"):
        entity["text"]
    with pytest.raises(KeyError):
        lazyentity.prefetch(entity, "absent")
    assert isinstance(entity, LazyEntity if lazy_type is LazyEntity else Entity)


CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda e: None,
    "assigned": lambda e: e.update(text="other", new=[1]),
    "deleted": lambda e: e.pop("text"),
    "flags": lambda e: e.exclude_from_indexes.update({"ratio", "list"}),
    "key": lambda e: setattr(e, "key", None),
    "all of it": lambda e: (e.update(text="other"), e.exclude_from_indexes.clear()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_writing(lazy_type: type[LazyEntity], change: Callable[[Any], object]) -> None:
    """raw() gives the message of a stock entity; the client's own encoder reads by items()."""
    stock = stock_entity(PLAIN)
    change(stock)
    entity = strict(lazy_type, PLAIN, "text")
    change(entity)
    assert reparsed(lazyentity.raw(entity)) == encoded(stock)
    entity = strict(lazy_type, PLAIN, "text")
    change(entity)
    with pytest.raises(RuntimeError, match=r"items\(\) reads all properties"):
        helpers.entity_to_protobuf(entity)
    assert reparsed(lazyentity.raw(entity)) == encoded(stock)


def test_an_unchanged_entity_goes_out_as_it_came(lazy_type: type[LazyEntity]) -> None:
    entity = strict(lazy_type, PLAIN)
    assert content(lazyentity.raw(entity)) == content(PLAIN)
    assert lazyentity.decoded(entity) == ()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param(
            b"\x0a\x01\xff",
            "property 'text' of an entity whose key cannot be read",
            marks=pytest.mark.needs_native("the pure one parses an entity as a whole"),
        ),
        (b"", "property 'text' of an entity without a key"),
    ],
    ids=["malformed", "none"],
)
def test_a_key_that_cannot_be_named(lazy_type: type[LazyEntity], key: bytes, text: str) -> None:
    """The error for the property is raised, and not the one for the key."""
    entity = strict(lazy_type, key + serialise({"text": 1})[len(serialise({})) :])
    with pytest.raises(RuntimeError, match=text):
        entity["text"]
