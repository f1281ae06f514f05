"""Where entities are looked for, and what is left alone."""

from __future__ import annotations

import dataclasses
import importlib.util
import types
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import Entity

from lazyentity import LazyEntity, search
from lazyentity.pure.search import EntityFinder
from lazyentity.search import decode_in_place, decoded_in_place
from tests.support.strategies.samples import RICH, serialise

WALKS: dict[str, Callable[[Any], bool]] = {
    "chosen": decode_in_place,
    "pure": search._finder_of(EntityFinder).decode,
}
DEEP = serialise({"inner": {"inner": {"deep": [{"x": 1}, 2]}}, "list": [{"y": 2}], "n": 1})


@dataclasses.dataclass
class Record:
    held: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    held: Any
    other: Any = None


class Plain:
    def __init__(self, held: Any) -> None:
        self.held = held


class Private:
    def __init__(self, held: Any) -> None:
        self._held = held


class InSlots:
    __slots__ = ("held", "unset")

    def __init__(self, held: Any) -> None:
        self.held = held


Pair = namedtuple("Pair", "first second")  # a class of its own


def _records(depth: int, held: Any) -> Any:
    for _ in range(depth):
        held = Record([held])
    return held


def _stock(held: Any) -> Any:
    entity = Entity()
    entity["held"] = [held]
    return entity


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda e: e,
    "list": lambda e: [1, e],
    "tuple": lambda e: (e,),
    "dict": lambda e: {"e": {"e": e}},
    "deque": lambda e: deque([e]),
    "OrderedDict": lambda e: OrderedDict(e=e),
    "defaultdict": lambda e: defaultdict(list, e=[e]),
    "values": lambda e: {"e": e}.values(),
    "items": lambda e: {"e": e}.items(),
    "UserDict": lambda e: UserDict({"e": e}),
    "namedtuple": lambda e: Pair(1, e),
    "stock entity": _stock,
    "record": Record,
    "records": lambda e: _records(50, e),
    "slotted record": Slotted,
    "object": Plain,
    "objects": lambda e: Plain([Plain(Plain(e))]),
    "object with slots": InSlots,
    "private list": lambda e: Private([e]),
    "private entity": Private,
    "set of objects": lambda e: {Plain(e)},
    "attribute of the class": lambda e: type("Class", (), {"held": e})(),
    "generator": lambda e: [(item for item in [e])],
    "closure of a generator": lambda e: {"e": _lazily({"e": e})},
    "iterators": lambda e: Record(map(str, filter(None, reversed([e])))),
    "nested deeply": lambda e: _nested(5000, e),
}


def _nested(depth: int, held: Any) -> Any:
    for number in range(depth):
        held = [held] if number % 2 else {"held": held}
    return held


def _lazily(held: Any) -> Any:
    return (held[name] for name in ("e",))


def _undecoded(entity: Any) -> list[Any]:
    """Return what is not decoded of an entity and those in it, by the storage alone."""
    found = list(entity._undecoded())
    for value in dict.values(entity):
        items = value if type(value) is list else [value]
        found += [
            name for item in items if isinstance(item, LazyEntity) for name in _undecoded(item)
        ]
    return found


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS.keys())
def test_everything_is_decoded(
    lazy_type: type[LazyEntity], hold: Callable[[Any], Any], walk: Callable[[Any], bool]
) -> None:
    for raw in (DEEP, RICH):
        entity = lazy_type.from_bytes(raw)
        holder = hold(entity)
        assert walk(holder)
        assert _undecoded(entity) == []
        # Said again of what another thread may have decoded meanwhile.
        assert walk(holder)


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
def test_cycles(lazy_type: type[LazyEntity], walk: Callable[[Any], bool]) -> None:
    entity = lazy_type.from_bytes(DEEP)
    cycle: list[Any] = []
    holder = Plain(cycle)
    cycle += [{"cycle": cycle}, holder, Record(holder), entity]
    entity["cycle"] = cycle
    assert walk(cycle)
    assert entity._undecoded() == []
    shared: Any = [lazy_type.from_bytes(DEEP)]
    for _ in range(200):
        shared = [shared, shared]
    assert walk(shared)


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
def test_what_is_left_alone(lazy_type: type[LazyEntity], walk: Callable[[Any], bool]) -> None:
    entity = lazy_type.from_bytes(DEEP)
    module = types.ModuleType("module")
    module.__dict__["entity"] = entity
    left = [
        module,
        type("Class", (), {"entity": entity}),
        lambda: entity,
        Private(Plain(entity)),
        Plain(Plain(Plain(Plain(entity)))),
        object(),
        "text",
        1,
    ]
    assert not walk(left)
    assert len(_undecoded(entity)) == len(entity)


def test_iterators_decode_what_they_yield(lazy_type: type[LazyEntity]) -> None:
    def each() -> Any:
        yield lazy_type.from_bytes(DEEP)

    for iterator in (each(), map(lazy_type.from_bytes, [DEEP]), iter([lazy_type.from_bytes(DEEP)])):
        (entity,) = decoded_in_place(iterator)
        assert _undecoded(entity) == []
    assert type(decoded_in_place(each())) is types.GeneratorType


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
def test_iterators_inside_are_not_consumed(
    lazy_type: type[LazyEntity], walk: Callable[[Any], bool]
) -> None:
    entity = lazy_type.from_bytes(DEEP)
    iterators = [iter([entity]), (item for item in [entity]), filter(None, [entity])]
    assert walk({"held": iterators})
    assert [next(iterator) is entity for iterator in iterators] == [True] * 3
    started = (item for item in [1, lazy_type.from_bytes(DEEP)])
    next(started)
    assert walk([started])
    assert _undecoded(next(started)) == []


@pytest.mark.skipif(
    importlib.util.find_spec("lazyentity.native.adapting") is None, reason="it was not built"
)
def test_the_native_walk_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAZYENTITY_BACKEND", raising=False)
    assert type(search._finder()).__module__ == "lazyentity.native.adapting"
    monkeypatch.setenv("LAZYENTITY_BACKEND", "pure")
    assert type(search._finder()) is EntityFinder
