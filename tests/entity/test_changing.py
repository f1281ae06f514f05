"""Entities that change while they are written, copied, compared or read."""

from __future__ import annotations

import copy
import datetime
import pickle
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from hypothesis import example, given, settings

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec import fallback
from lazyentity.codec.values import property_value
from lazyentity.encoding import _encodable_of
from lazyentity.pure import mapping
from lazyentity.search import decode_in_any
from tests.conftest import BACKENDS
from tests.support import write_cases
from tests.support.changing import acting, meanwhile
from tests.support.snapshots import outcome
from tests.support.stock import (
    EntityMessage,
    comparable,
    encoded,
    in_order_of,
    stock_entity,
)
from tests.support.strategies.samples import serialise


@pytest.fixture(scope="session", params=list(BACKENDS))
def write(request: pytest.FixtureRequest) -> Callable[[Entity], Any]:
    """The encoder of each backend in turn."""
    write_entity = BACKENDS[request.param].write_entity

    def write(entity: Entity) -> Any:
        message = EntityMessage()
        write_entity(message, entity, _encodable_of)
        return message

    return write


def _first_odd_name(container: str) -> write_cases.Case:
    """The first name that is no str closes gaps: the client then comes to a property twice."""
    moves = (("pop", 0), ("reset", 2), ("flags", 2), ("odd name", 8))
    return write_cases.Case(container, "zone", 4, ("list",), moves, 1)


@settings(max_examples=1000)
@given(case=write_cases.CASES)
@example(_first_odd_name("entity"))
@example(_first_odd_name("lazy"))
@example(_first_odd_name("embedded"))
def test_any_change(
    lazy_type: type[LazyEntity], write: Callable[[Entity], Any], case: write_cases.Case
) -> None:
    """The message, or the error, is the client's, whatever changes while values are encoded."""
    ours, stock = case.pair(lazy_type)
    expected = outcome(lambda: encoded(stock))
    written = outcome(lambda: comparable(write(ours)))
    case.compare(written, expected)


def account(changed: dict[str, Any]) -> list[int]:
    """Fill a dict that loses properties and is rebuilt while it is written.

    Returns:
        A list that has a number for each time that its timestamp was encoded.
    """
    calls: list[int] = []

    def move() -> None:
        calls.append(len(calls))
        for number in range(3):
            changed.pop(f"old{number}", None)
        for number in range(40):
            changed[f"new{number}"] = 1
        for number in range(40):
            changed.pop(f"new{number}")

    changed.update(old0=0, old1=1, old2=2, at=acting(move))
    changed.update(balance=100, owner="alice", limit=5, note="x")
    return calls


def test_nothing_is_encoded_again_for_its_depth(write: Callable[[Entity], Any]) -> None:
    """A dict that changed is not read again if a later value is too deep for the native encoder."""
    entity: Any = Entity(Key("Kind", 1, project="p"))
    entity["account"] = {}
    calls = account(entity["account"])
    deep: list[Any] = []
    for _ in range(60):
        deep = [deep]
    entity["deep"] = deep
    assert len(write(entity).properties["account"].entity_value.properties) == 8
    first = len(calls)
    write(entity)
    assert len(calls) == 2 * first


ROUNDS = 40


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_moves_names(write: Callable[[Entity], Any]) -> None:
    """A dict loses no name that another thread takes out, and puts back at once."""
    at = datetime.datetime(2024, 5, 6, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    changed: dict[str, Any] = {f"name {number}": at for number in range(400)}
    entity: Any = Entity(Key("Kind", 1, project="p"))
    entity["changed"] = changed
    names = list(changed)

    def move(turn: int) -> None:
        for name in names[turn % 4 :: 4]:
            changed[name] = changed.pop(name)

    def write_often() -> None:
        for _ in range(ROUNDS):
            written = write(entity).properties["changed"].entity_value.properties
            # One is missing at a time, at most.
            assert len(written) >= len(names) - 1

    meanwhile(move, write_often)


Run = Callable[[], None]


class _Flags(list[str]):
    """Names to exclude that run code when they are copied."""

    run: Run

    def __iter__(self) -> Iterator[str]:
        self.run()
        return super().__iter__()


def _embedded(run: Run) -> Any:
    """Return an entity whose copying runs code."""
    made: Any = Entity()
    made["inner"] = 1
    made.exclude_from_indexes = _Flags()
    made.exclude_from_indexes.run = run
    return made


class _Dict(dict[str, Any]):
    """A dict that runs code when its items are asked for."""

    run: Run

    def items(self) -> Any:
        self.run()
        return super().items()


def _changes_of(entity: Any) -> Run:
    """Return code that changes decoded, assigned and unread properties of an entity."""

    def run() -> None:
        entity["touched"] = entity.pop("touched", 0)
        entity.pop("last", None)
        entity.pop("a", None)
        entity["new"] = 1

    return run


def _lazy(lazy_type: type[LazyEntity], value: Callable[[Run], Any]) -> Any:
    """Return a lazy entity with a value that runs code which changes the entity."""
    lazy: Any = lazy_type.from_bytes(write_cases.RAW)
    lazy["value"] = value(_changes_of(lazy))
    lazy["touched"] = 1
    lazy["last"] = 2
    return lazy


NAMES = {*write_cases.RECEIVED, "value", "touched", "last"}


def test_materialize(lazy_type: type[LazyEntity]) -> None:
    """The result is consistent: nothing that changes meanwhile is mixed in."""
    made = lazyentity.materialize(_lazy(lazy_type, _embedded))
    assert made.keys() == NAMES
    assert {name: made[name] for name in NAMES - {"value"}} == {
        **{name: number for number, name in enumerate(write_cases.RECEIVED)},
        "touched": 1,
        "last": 2,
    }


@pytest.mark.parametrize(
    "convert",
    [
        lazyentity.materialize,
        lazyentity.to_dict,
        lambda entity: lazyentity.detach([entity], partial=True)[0],
    ],
    ids=["materialize", "to_dict", "detach"],
)
def test_dicts_and_meanings(lazy_type: type[LazyEntity], convert: Callable[[Any], Any]) -> None:
    """A dict inside, and the meanings, may change while they are copied."""
    lazy: Any = lazy_type.from_bytes(write_cases.RAW)
    inside: dict[str, Any] = {}

    def run() -> None:
        inside["new"] = lazy._meanings["new"] = (9, 1)

    hooked: Any = _Dict(x=1)
    hooked.run = run
    inside.update(first=_embedded(run), hooked=hooked, last=2)
    lazy["inside"] = inside
    lazy._meanings["a"] = (9, _embedded(run))
    assert convert(lazy)["inside"].keys() == {"first", "hooked", "last"}


def _hooked(run: Run) -> _Dict:
    made = _Dict(x=1)
    made.run = run
    return made


def test_to_dict(lazy_type: type[LazyEntity]) -> None:
    """The result is consistent, of a stock entity, too."""
    stock: Any = Entity()
    stock.update(a=0, value=_hooked(_changes_of(stock)), touched=1, last=2)
    assert list(lazyentity.to_dict(stock)) == ["a", "value", "touched", "last"]
    lazy = _lazy(lazy_type, _hooked)
    assert lazyentity.to_dict(lazy).keys() == NAMES
    lazy = _lazy(lazy_type, _hooked)
    assert lazyentity.to_dict(lazy, "value", "last", "a") == {"value": {"x": 1}, "last": 2, "a": 0}


class _Acting:
    """A value that runs code when it is compared, shown or copied."""

    run: Run = staticmethod(lambda: None)

    def __eq__(self, _: object) -> bool:
        self.run()
        return True

    __hash__ = None  # type: ignore[assignment]  # how Python spells "unhashable"

    def __repr__(self) -> str:
        self.run()
        return "acting"

    def __deepcopy__(self, _: Any) -> Any:
        self.run()
        return _Acting()

    def __reduce__(self) -> Any:
        self.run()
        return _Acting, ()


def _pickled(protocol: int) -> Callable[[Any], Any]:
    return lambda entity: list(pickle.loads(pickle.dumps(entity, protocol)))  # made here


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "==": lambda entity: entity == stock_entity(write_cases.RAW) | {"value": _Acting(), "last": 1},
    "reflected ==": lambda entity: {**entity, "last": 1} == entity,
    "repr": lambda entity: repr(entity),
    "deepcopy": lambda entity: list(copy.deepcopy(entity)),
    **{f"pickle {protocol}": _pickled(protocol) for protocol in range(6)},
}


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_as_of_stock(lazy_type: type[LazyEntity], operation: str, number: int) -> None:
    """An entity that changes while it is compared, shown or copied gives the client's result."""

    def result(entity: Any) -> Any:
        entity["value"] = value = _Acting()
        entity["last"] = 1
        value.run = [
            lambda: entity.update(new=1),
            lambda: entity.pop("last", None),
            lambda: entity.update(last=entity.pop("last")),
        ][number]
        return outcome(OPERATIONS[operation], entity)

    lazy = lazy_type.from_bytes(write_cases.RAW)
    stock = in_order_of(lazy_type.from_bytes(write_cases.RAW), stock_entity(write_cases.RAW))
    assert result(lazy) == result(stock)


# The list is decoded by the codec, of which the tests know the name.
DECODED = serialise({"first": 1, "list": [1, 2], "last": 3}, meanings={"list": (None, [9, None])})
READS: dict[str, Callable[[Any], Any]] = {
    "[]": lambda entity: entity["list"],
    "get": lambda entity: entity.get("list"),
    "items": lambda entity: entity.items(),
    "values": lambda entity: entity.values(),
    "copy": lambda entity: entity.copy(),
    "==": lambda entity: entity == {},
    "prefetch": lambda entity: lazyentity.prefetch(entity, "list"),
    "_meanings": lambda entity: entity._meanings,
    "decode_in_any": decode_in_any,
}


def _convert_by(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the function by which both backends convert a list with a meaning."""
    for module in (fallback, mapping):
        monkeypatch.setattr(module, "property_value", function)


@pytest.mark.parametrize("operation", list(READS))
def test_reading_undoes_nothing(
    lazy_type: type[LazyEntity], monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """What is assigned or deleted while a property is decoded stays so."""
    entity = lazy_type.from_bytes(DECODED)

    def in_the_middle(*args: Any) -> Any:
        value = property_value(*args)
        entity.update(first="assigned", list="assigned")
        entity.pop("last", None)
        return value

    _convert_by(in_the_middle, monkeypatch)
    READS[operation](entity)
    monkeypatch.undo()
    assert dict(entity) == {"first": "assigned", "list": "assigned"}
