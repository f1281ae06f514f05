"""Where entities are looked for, and what is left alone."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import types
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import Entity

from lazyentity import LazyEntity, search
from lazyentity.pure.search import EntityFinder
from lazyentity.search import decoded_in_place
from tests.adapters.uses_functions import what_c_code_sees
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN, RICH, serialise

DEEP = serialise({"inner": {"inner": {"deep": [{"x": 1}, 2]}}, "list": [{"y": 2}], "n": 1})


@dataclasses.dataclass
class Record:
    held: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    held: Any
    other: Any = None


class Comparing(type):
    """Makes classes that have no hash."""

    def __eq__(cls, other: object) -> bool:
        return cls is other


class Plain:
    def __init__(self, held: Any) -> None:
        self.held = held


class Unhashable(Plain, metaclass=Comparing):
    pass


class UnhashableDict(dict[str, Any], metaclass=Comparing):
    pass


class Private:
    def __init__(self, held: Any) -> None:
        self._held = held


class InSlots:
    __slots__ = ("held", "unset")

    def __init__(self, held: Any) -> None:
        self.held = held


Pair = namedtuple("Pair", "first second")  # a subclass of tuple


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
    "records": lambda e: functools.reduce(lambda held, _: Record([held]), range(50), e),
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


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS.keys())
def test_everything_is_decoded(
    lazy_type: type[LazyEntity], walk: Any, hold: Callable[[Any], Any]
) -> None:
    for raw in (DEEP, RICH):
        entity = lazy_type.from_bytes(raw)
        holder = hold(entity)
        assert walk.decode(holder)
        assert _undecoded(entity) == []
        # Said again of what another thread may have decoded meanwhile.
        assert walk.decode(holder)


def test_cycles(lazy_type: type[LazyEntity], walk: Any) -> None:
    entity = lazy_type.from_bytes(DEEP)
    cycle: list[Any] = []
    holder = Plain(cycle)
    cycle += [{"cycle": cycle}, holder, Record(holder), entity]
    entity["cycle"] = cycle
    assert walk.decode(cycle)
    assert entity._undecoded() == []
    shared: Any = [lazy_type.from_bytes(DEEP)]
    for _ in range(200):
        shared = [shared, shared]
    assert walk.decode(shared)


def test_what_is_left_alone(lazy_type: type[LazyEntity], walk: Any) -> None:
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
    assert not walk.decode(left)
    assert len(_undecoded(entity)) == len(entity)


@pytest.mark.parametrize(
    "kind",
    [
        Unhashable,
        lambda held: UnhashableDict(held=held),
        lambda held: Comparing("Made", (Record,), {})(held),
    ],
)
def test_classes_without_a_hash(walk: Any, kind: Callable[[Any], Any]) -> None:
    """Entities in their instances are found as in others."""
    assert not walk.is_plain(kind(1))
    assert not walk.is_plain({"a": kind(1)})
    assert not walk.decode([kind(1)])
    for wrap in (lambda held: held, lambda held: [1, held], lambda held: {"a": (held,)}):
        for validating in (False, True):
            entity = LazyEntity.from_bytes(PLAIN)
            assert walk.decode(wrap(kind(entity)), validating)
            assert entity._undecoded() == []


def test_iterators_of_an_entity() -> None:
    """Its storage may hold sentinels, which are no values."""
    entity = LazyEntity.from_bytes(RICH)
    values = list(decoded_in_place(iter(entity.values())))
    stock = in_order_of(LazyEntity.from_bytes(RICH), stock_entity(RICH))
    assert what_c_code_sees(values) == what_c_code_sees(list(stock.values()))


def test_iterators_decode_what_they_yield(lazy_type: type[LazyEntity]) -> None:
    def each() -> Any:
        yield lazy_type.from_bytes(DEEP)

    for iterator in (each(), map(lazy_type.from_bytes, [DEEP]), iter([lazy_type.from_bytes(DEEP)])):
        (entity,) = decoded_in_place(iterator)
        assert _undecoded(entity) == []
    assert type(decoded_in_place(each())) is types.GeneratorType


def test_iterators_inside_are_not_consumed(lazy_type: type[LazyEntity], walk: Any) -> None:
    entity = lazy_type.from_bytes(DEEP)
    iterators = [iter([entity]), (item for item in [entity]), filter(None, [entity])]
    assert walk.decode({"held": iterators})
    assert [next(iterator) is entity for iterator in iterators] == [True] * 3
    started = (item for item in [1, lazy_type.from_bytes(DEEP)])
    next(started)
    assert walk.decode([started])
    assert _undecoded(next(started)) == []


@pytest.mark.skipif(
    importlib.util.find_spec("lazyentity.native.adapting") is None, reason="it was not built"
)
def test_the_native_walk_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAZYENTITY_BACKEND", raising=False)
    assert type(search._finder()).__module__ == "lazyentity.native.adapting"
    monkeypatch.setenv("LAZYENTITY_BACKEND", "pure")
    assert type(search._finder()) is EntityFinder
