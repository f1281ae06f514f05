"""The work for nested entities: calls grow linearly with the levels, with any error inside."""

from __future__ import annotations

import copy
import cProfile
import functools
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

import lazyentity
from lazyentity import LazyEntity, encoding
from lazyentity.encoding import entity_message
from tests.backends.malformed import entity_of
from tests.conftest import BACKENDS
from tests.support.snapshots import Raised, outcome
from tests.support.stock import comparable, encoded
from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN
from tests.support.strategies.schema import VALUE


@pytest.fixture(params=BACKENDS)
def encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each backend's encoder in turn."""
    monkeypatch.setattr(encoding, "write_entity", BACKENDS[request.param].write_entity)


@pytest.fixture
def _deep_stack() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5_000)
    yield
    sys.setrecursionlimit(limit)


def _calls(function: Callable[..., object], *arguments: Any) -> int:
    """Count the calls of Python functions, and those that these make of C functions."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        outcome(partial(function, *arguments))
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


class _OtherEntity(Entity):
    pass


def _entity(value: Any, kind: type[Entity] = Entity) -> Any:
    entity: Any = kind(key=Key("Kind", 1, project="p"), exclude_from_indexes=("a",))
    entity["a"] = value
    return entity


def _with_meaning(value: Any) -> Any:
    entity = _entity(value)
    entity._meanings["a"] = (15, value)
    return entity


def _lazy(value: Any) -> Any:
    entity: Any = LazyEntity.from_bytes(PLAIN)
    entity["a"] = value
    return entity


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "entities": _entity,
    "other entities": lambda value: _entity(value, _OtherEntity),
    "meanings": _with_meaning,
    "lazy entities": _lazy,
    "lazy in stock": lambda value: _entity([_lazy(value)]),
    "dicts": lambda value: {"a": value},
    "other dicts": lambda value: OrderedDict(a=value),
    "lists": lambda value: [value],
    # The names are of a kind that asks for another encoder, after most was done.
    "odd names": lambda value: OrderedDict([("a", value), (b"b", 1)]),
    "too deep beside": lambda value: {"a": value, "b": _nested(lambda item: [item], 60, 1)},
}
LEAVES = [1, "\ud800", 2**70, object(), {"\ud800": 1}]


def _nested(wrap: Callable[[Any], Any], levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = wrap(leaf)
    return leaf


@pytest.mark.usefixtures("encoder", "_deep_stack")
@pytest.mark.parametrize(
    ("wrapper", "levels"),
    [
        *((wrapper, levels) for wrapper in WRAPPERS for levels in (14, 40)),
        *((wrapper, 500) for wrapper in ("entities", "other entities", "dicts", "lists")),
    ],
)
def test_writing(wrapper: str, levels: int) -> None:
    """A good or a bad leaf gives the client's message or error, in at most twice its calls."""
    for (expected, calls), (leaf, entity) in zip(
        _stock(wrapper, levels), _entities(wrapper, levels), strict=True
    ):
        assert outcome(partial(_message, entity)) == expected
        assert isinstance(expected, Raised) == (leaf != 1)
        assert _calls(entity_message, entity) <= 2 * calls + 100
        assert _calls(lazyentity.raw, entity) <= 2 * calls + 100


@functools.cache  # for each encoder the same
def _stock(wrapper: str, levels: int) -> list[tuple[Any, int]]:
    """Return the client's outcome and calls for each leaf."""
    return [
        (outcome(partial(encoded, entity)), _calls(helpers.entity_to_protobuf, entity))
        for _, entity in _entities(wrapper, levels)
    ]


def _entities(wrapper: str, levels: int) -> Iterator[tuple[Any, Any]]:
    for leaf in LEAVES:
        yield leaf, _entity(_nested(WRAPPERS[wrapper], levels, leaf))


def _message(entity: Entity) -> bytes:
    return comparable(entity_message(entity))


LEAF = wire.integer(VALUE.integer_value, 1)
RECEIVED = {"usual": [LEAF], "two values": [wire.integer(99, 1), LEAF, LEAF]}


def _received(levels: int, leaf: str) -> bytes:
    raw = entity_of("a", *RECEIVED[leaf])
    for _ in range(levels - 1):
        raw = entity_of("a", wire.delimited(VALUE.entity_value, raw))
    return raw


def _read(entity: Any) -> Any:
    value = entity
    while isinstance(value["a"], dict):
        value = value["a"]
    return value


def _changed(entity: Any, leaf: Any) -> Any:
    _read(entity)["a"] = leaf
    return entity


def _eagerly(raw: bytes) -> Any:
    with lazyentity.eager():
        return LazyEntity.from_bytes(raw)


OPERATIONS: dict[str, Callable[[Any, Any], object]] = {
    "reading": lambda entity, other: _read(entity),
    "items": lambda entity, other: entity.items(),
    "repr": lambda entity, other: repr(entity),
    "==": lambda entity, other: entity == other,
    "!=": lambda entity, other: entity != _changed(other, 2),
    "copy": lambda entity, other: copy.copy(entity),
    "deepcopy": lambda entity, other: copy.deepcopy(entity),
    "pickle": lambda entity, other: pickle.loads(pickle.dumps(entity)),
    "to_dict": lambda entity, other: lazyentity.to_dict(entity),
    "eager": lambda entity, other: _eagerly(lazyentity.raw(entity)),
    "materialize": lambda entity, other: lazyentity.materialize(_changed(entity, 2)),
    "detach": lambda entity, other: lazyentity.detach([_changed(entity, 2)]),
    "raw": lambda entity, other: lazyentity.raw(_changed(entity, 2)),
    "message": lambda entity, other: entity_message(_changed(entity, 2)),
    "refused": lambda entity, other: entity_message(_changed(entity, "\ud800")),
    "refused raw": lambda entity, other: lazyentity.raw(_changed(entity, 2**70)),
}


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize("leaf", RECEIVED)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_received(
    lazy_type: type[LazyEntity], operation: Callable[[Any, Any], object], leaf: str
) -> None:
    """Four times as deep is four times the calls, and more if too deep for the native code."""
    calls = []
    for levels in (8, 32):
        raw = _received(levels, leaf)
        pairs = [[lazy_type.from_bytes(raw) for _ in range(2)] for _ in range(2)]
        # Shapes are learned once.
        outcome(partial(operation, *pairs[0]))
        calls.append(_calls(operation, *pairs[1]))
    assert calls[1] <= 12 * calls[0] + 600
