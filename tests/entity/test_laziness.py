"""Which operation decodes which property, and which decodes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from tests.support.snapshots import snapshot_key
from tests.support.strategies.samples import PLAIN, RICH, plain_properties, serialise


def test_nothing_is_decoded_at_first(lazy_type: type[LazyEntity]) -> None:
    """All names are in place, and no value is decoded."""
    lazy = lazy_type.from_bytes(PLAIN)
    assert lazy.keys() == plain_properties().keys()
    assert lazyentity.decoded(lazy) == ()
    assert all(value is UNDECODED for value in dict.values(lazy))


NOTHING: dict[str, Callable[[Any], object]] = {
    "len": len,
    "bool": bool,
    "in": lambda e: "text" in e,
    "iteration": list,
    "reversed": lambda e: list(reversed(e)),
    "keys": lambda e: e.keys() & {"text"},
    "assignment": lambda e: e.__setitem__("new", 1),
    "del": lambda e: e.__delitem__("text"),
    "update": lambda e: e.update(new=1),
    "|=": lambda e: e.__ior__({"new": 1}),
    "setdefault of a new name": lambda e: e.setdefault("new", 1),
    "get of a missing name": lambda e: e.get("missing"),
    "pop of a missing name": lambda e: e.pop("missing", None),
    "clear": lambda e: e.clear(),
    "key": lambda e: e.key,
    "kind": lambda e: e.kind,
    "id": lambda e: e.id,
    "exclude_from_indexes": lambda e: e.exclude_from_indexes,
    "hasattr": lambda e: hasattr(e, "missing"),
    "isinstance": lambda e: isinstance(e, dict),
    "raw": lazyentity.raw,
    "decoded": lazyentity.decoded,
    "prefetch of nothing": lazyentity.prefetch,
    "comparison with another key": lambda e: e == lazyentity.LazyEntity(),
    "comparison with no mapping": lambda e: e == 1,
}


@pytest.mark.parametrize("operation", NOTHING.values(), ids=NOTHING.keys())
def test_decodes_nothing(lazy_type: type[LazyEntity], operation: Callable[[Any], object]) -> None:
    """Operations that need no values decode nothing; only assigned properties count as decoded."""
    lazy = lazy_type.from_bytes(PLAIN)
    operation(lazy)
    assert set(lazyentity.decoded(lazy)) <= {"new"}


ONE: dict[str, Callable[[Any], object]] = {
    "[]": lambda e: e["list"],
    "get": lambda e: e.get("list"),
    "setdefault": lambda e: e.setdefault("list", None),
    "prefetch": lambda e: lazyentity.prefetch(e, "list"),
    "match": lambda e: _matched(e),
}


def _matched(entity: Any) -> object:
    match entity:
        case {"list": value}:
            return value
    return None


@pytest.mark.parametrize("operation", ONE.values(), ids=ONE.keys())
def test_decodes_one(lazy_type: type[LazyEntity], operation: Callable[[Any], object]) -> None:
    """Reading one property decodes that one."""
    lazy = lazy_type.from_bytes(PLAIN)
    operation(lazy)
    assert lazyentity.decoded(lazy) == ("list",)


def test_pop_decodes_one(lazy_type: type[LazyEntity]) -> None:
    """Only the removed property is decoded."""
    lazy = lazy_type.from_bytes(PLAIN)
    assert lazy.pop("list") == [1, "two", 3.0]
    last = list(lazy)[-1]
    assert lazy.popitem() == (last, plain_properties()[last])
    assert lazyentity.decoded(lazy) == ()
    assert len(lazy) == len(plain_properties()) - 2


def test_meanings_decode_what_has_one(lazy_type: type[LazyEntity]) -> None:
    """The values that the client compares by identity are decoded, and no others."""
    lazy = lazy_type.from_bytes(PLAIN)
    assert lazy._meanings == {"number": (9, 42)}
    assert lazyentity.decoded(lazy) == ("number",)
    assert lazy._meanings["number"][1] is lazy["number"]


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_meanings_hold_the_value_that_was_read(lazy_type: type[LazyEntity], before: bool) -> None:
    """The value beside a meaning is the property's object, with either read first."""
    raw = serialise({"list": [1, 2]}, meanings={"list": (9, [None, 15])})
    lazy = lazy_type.from_bytes(raw)
    value = lazy["list"] if before else lazy._meanings["list"][1]
    assert lazy["list"] is value
    assert lazy._meanings["list"][1] is value


def test_embedded_entities_are_lazy(lazy_type: type[LazyEntity]) -> None:
    """Embedded entities, in arrays too, decode their properties one by one as well."""
    lazy = lazy_type.from_bytes(RICH)
    for inner in (lazy["inner"], *lazy["inners"]):
        assert type(inner) is lazy_type
        assert lazyentity.decoded(inner) == ()
        assert snapshot_key(inner.key) is None
        assert inner.exclude_from_indexes == {"deep"}
        assert lazyentity.decoded(inner) == ()
        assert inner["deep"] == [b"bytes", None]


def test_reading_all_leaves_embedded_entities_lazy(lazy_type: type[LazyEntity]) -> None:
    """The views decode their values, but nothing inside these."""
    lazy = lazy_type.from_bytes(RICH)
    inner = dict(lazy.items())["inner"]
    assert lazyentity.decoded(lazy) == tuple(lazy)
    assert lazyentity.decoded(inner) == ()


def test_deleted_and_set_again(lazy_type: type[LazyEntity]) -> None:
    """A deleted property does not come back, and one set after that is the caller's."""
    lazy = lazy_type.from_bytes(PLAIN)
    del lazy["text"]
    assert "text" not in lazy
    assert lazy.get("text") is None
    with pytest.raises(KeyError, match="text"):
        lazy["text"]
    lazy["text"] = 7
    assert lazy["text"] == 7
    assert tuple(lazy)[-1] == "text"
