"""The sentinel in storage cannot be used as a value, and is never written as data."""

from __future__ import annotations

import copy
import json
import math
import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from tests.support.snapshots import outcome, snapshot
from tests.support.stock import content, stock_entity
from tests.support.strategies.samples import PLAIN

REFUSED: dict[str, Callable[[Any], object]] = {
    "str": str,
    "format": lambda value: f"{value}",
    "%s": lambda value: "%s" % value,  # noqa: UP031  # this way of formatting is tested
    "bytes": bytes,
    "bool": bool,
    "not": operator.not_,
    "int": int,
    "float": float,
    "index": operator.index,
    "round": round,
    "len": len,
    "iter": iter,
    "list": list,
    "hash": hash,
    "in a set": lambda value: {value},
    "==": lambda value: value == 1,
    "== reflected": lambda value: 1 == value,  # noqa: SIM300  # this order is tested
    "== itself": lambda value: value == value,  # that it is refused is tested
    "!=": lambda value: value != 1,
    "<": lambda value: value < 1,
    "sorted": lambda value: sorted([1, value]),
    "+": lambda value: value + 1,
    "[]": lambda value: value["name"],
    "call": lambda value: value(),
    "attribute set": lambda value: setattr(value, "name", 1),
    "isnan": math.isnan,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "json": json.dumps,
    "orjson": orjson.dumps,
}


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED.keys())
def test_refuses(operation: Callable[[Any], object]) -> None:
    """Every use by C code raises."""
    with pytest.raises((TypeError, AttributeError)):
        operation(UNDECODED)


def test_says_what_to_do() -> None:
    """The error tells the way out, and so does repr(), which others put into theirs."""
    with pytest.raises(TypeError, match=r"lazyentity\.materialize\(entity\)"):
        str(UNDECODED)
    assert "lazyentity.materialize(entity)" in repr(UNDECODED)
    with pytest.raises(ValueError, match=r"lazyentity\.materialize\(entity\)"):
        raise ValueError(f"not valid: {UNDECODED!r}")


BYPASSES: dict[str, Callable[[Any], Any]] = {
    "dict.__getitem__": lambda e: dict.__getitem__(e, "text"),
    "dict.get": lambda e: dict.get(e, "text"),
    "dict.setdefault": lambda e: dict.setdefault(e, "text", None),
    "dict.pop": lambda e: dict.pop(e, "text"),
    "dict.items": lambda e: dict(dict.items(e))["text"],
    "dict.values": lambda e: next(iter(dict.values(e))),
    "globals of eval": lambda e: eval("text", e, {}),  # noqa: S307  # the test's own expression
}


@pytest.mark.parametrize("bypass", BYPASSES.values(), ids=BYPASSES.keys())
def test_what_reads_storage_gets_the_sentinel(
    lazy_type: type[LazyEntity], bypass: Callable[[Any], Any]
) -> None:
    """A reader past the interface gets the sentinel, never None or another value that would do."""
    assert bypass(lazy_type.from_bytes(PLAIN)) is UNDECODED
    assert bypass(lazyentity.materialize(lazy_type.from_bytes(PLAIN))) is not UNDECODED


def _entity(**properties: Any) -> Entity:
    entity = Entity(key=Key("Other", 1, project="p"))
    entity.update(properties)
    return entity


VALUES: dict[str, Any] = {
    "itself": UNDECODED,
    "in a list": [1, UNDECODED],
    "in a dict": {"deep": UNDECODED},
    "in an entity": _entity(deep=UNDECODED),
    "deep": [{"deep": [1, _entity(list=[{"deeper": UNDECODED}])]}],
    "late": [0] * 100_000 + [UNDECODED],
}

ASSIGNMENTS: dict[str, Callable[[Any, str, Any], object]] = {
    "[]=": lambda e, name, value: e.__setitem__(name, value),
    "update": lambda e, name, value: e.update({"before": 1, name: value}),
    "update of pairs": lambda e, name, value: e.update(iter([("before", 1), (name, value)])),
    "update of keywords": lambda e, name, value: e.update(**{"before": 1, name: value}),
    "update of an entity": lambda e, name, value: e.update(_entity(**{name: value})),
    "|=": lambda e, name, value: e.__ior__({"before": 1, name: value}),
    "setdefault": lambda e, name, value: e.setdefault(f"{name}!", value),
}


@pytest.mark.parametrize("assign", ASSIGNMENTS.values(), ids=ASSIGNMENTS.keys())
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("name", ["text", "new"])
def test_assigning_is_refused(
    lazy_type: type[LazyEntity], assign: Callable[[Any, str, Any], object], value: Any, name: str
) -> None:
    """The error comes at once, names the property and the cure, and leaves the entity unchanged."""
    entity = lazy_type.from_bytes(PLAIN)
    with pytest.raises(TypeError, match=rf"'{name}!?'.*lazyentity\.materialize\(entity\)"):
        assign(entity, name, value)
    assert lazyentity.decoded(entity) == ()
    assert content(lazyentity.raw(entity)) == content(PLAIN)
    assert snapshot(entity) == snapshot(stock_entity(PLAIN))


def _appended(entity: Any) -> None:
    entity["list"] = [1]
    entity["list"].append({"deep": UNDECODED})


def _into_embedded(entity: Any) -> None:
    dict.__setitem__(entity["inner"], "new", UNDECODED)


PUT_IN: dict[str, tuple[str, Callable[[Any], object]]] = {
    "dict.__setitem__": ("new", lambda e: dict.__setitem__(e, "new", UNDECODED)),
    "dict.update": ("new", lambda e: dict.update(e, {"new": UNDECODED})),
    "after a deletion": ("new", lambda e: (e.pop("text"), dict.update(e, new=UNDECODED))),
    "a changed list": ("list", _appended),
    "an embedded entity": ("new", _into_embedded),
}

OPERATIONS: dict[str, Callable[[Any], object]] = {
    "raw": lazyentity.raw,
    # Looked up when it is patched.
    "the client's encoder": lambda e: helpers.entity_to_protobuf(e),
}
READS: dict[str, Callable[[Any], object]] = {
    "[]": lambda e: e["new"],
    "get": lambda e: e.get("new"),
    "pop": lambda e: e.pop("new"),
    "popitem": lambda e: e.popitem(),
    "setdefault": lambda e: e.setdefault("new", 1),
    "items": lambda e: e.items(),
    "values": lambda e: e.values(),
    "copy()": lambda e: e.copy(),
    "copy": copy.copy,
    "pickle": pickle.dumps,
    "dict": dict,
    "==": lambda e: e == {},
    "repr": repr,
    "materialize": lazyentity.materialize,
    "detach": lambda e: lazyentity.detach([e], partial=True),
}


@pytest.fixture
def patched() -> Iterator[None]:
    lazyentity.patch("datastore")
    yield
    lazyentity.unpatch("datastore")


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("write", OPERATIONS.values(), ids=OPERATIONS.keys())
@pytest.mark.parametrize(("name", "bypass"), PUT_IN.values(), ids=PUT_IN)
def test_what_bypasses_the_methods_is_not_written(
    lazy_type: type[LazyEntity],
    name: str,
    bypass: Callable[[Any], object],
    write: Callable[[Any], object],
) -> None:
    """Neither a lazy entity nor the entity around it writes a sentinel."""
    entity = lazy_type.from_bytes(PLAIN)
    bypass(entity)
    outer = _entity(outer=[entity])
    for written in (entity, outer):
        with pytest.raises(TypeError, match=r"lazyentity\.materialize\(entity\)") as refused:
            write(written)
        if written is entity:
            assert str(refused.value).startswith(f"property {name!r} of ")
            assert bypass is _into_embedded or repr(entity.key) in str(refused.value)


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_stock_entities_with_it_are_not_written(value: Any) -> None:
    """Nor dicts in them: the error names the property and the key."""
    entity = _entity(fine=1, wrong=value)
    for write in (lazyentity.raw, helpers.entity_to_protobuf):
        with pytest.raises(TypeError, match=r"^property 'wrong' of the entity <Key\('Other', 1\)"):
            write(entity)


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_what_bypasses_the_methods_is_not_read(
    lazy_type: type[LazyEntity], read: Callable[[Any], object]
) -> None:
    """Under a name that the entity did not come with; it can be deleted and replaced."""
    entity = lazy_type.from_bytes(PLAIN)
    dict.__setitem__(entity, "new", UNDECODED)
    with pytest.raises(TypeError, match="property 'new' of the entity"):
        read(entity)
    assert "new" in entity
    entity["new"] = 1
    assert entity["new"] == 1
    del entity["new"]
    assert entity == stock_entity(PLAIN)


def test_containers_that_hold_themselves(lazy_type: type[LazyEntity]) -> None:
    """And lists that occur many times are searched once."""
    entity = lazy_type.from_bytes(PLAIN)
    itself: list[Any] = []
    itself.append(itself)
    entity["new"] = itself
    many: list[Any] = []
    for _ in range(200):
        many = [many, many, {"again": many}]
    entity["new"] = many
    entity.update(new=itself)
    assert entity["new"] is itself


UPDATES: dict[str, Callable[[], Any]] = {
    "pairs, then an error": lambda: (("a", 1) if i < 2 else 1 / 0 for i in range(3)),
    "a pair too short": lambda: [("a", 1), ("b",)],
    "no pairs": lambda: 5,
    "an entity": lambda: _entity(text=1, a=2),
    "keys()": lambda: type("Keys", (), {"keys": lambda s: "ab", "__getitem__": lambda s, n: n})(),
    "an unhashable name": lambda: [("a", 1), ([], 2), ("b", 3)],
}


@pytest.mark.parametrize("given", UPDATES.values(), ids=UPDATES.keys())
def test_updating_goes_as_far_as_in_stock(
    lazy_type: type[LazyEntity], given: Callable[[], Any]
) -> None:
    """With the same error, and the same items set before."""
    updates: list[Callable[[Any], object]] = [
        lambda e: e.update(given()),
        lambda e: e.update(given(), text=3),
        lambda e: e.__ior__(given()) is e,
        lambda e: e.update(given(), 1),
    ]
    for update in updates:
        lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
        assert outcome(update, lazy) == outcome(update, stock)
        assert snapshot(lazy) == snapshot(stock)
