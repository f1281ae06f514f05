"""Code of the caller that runs in the middle of an operation, and changes the entity."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec import fallback
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.codec.values import property_value
from lazyentity.pure import mapping
from lazyentity.pure.mapping import LazyMapping as PureMapping
from lazyentity.search import decode_in_any
from tests.support import write_cases
from tests.support.snapshots import Raised, outcome
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import serialise

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


class _Metaclass(type):
    run: Run

    def __getattr__(cls, name: str) -> Any:
        cls.run()
        raise AttributeError(name)


def _asked_for_attributes(run: Run) -> dict[str, Any]:
    """Return a dict whose class runs code when it is asked for an attribute that it lacks."""

    class Asked(dict[str, Any], metaclass=_Metaclass):
        pass

    Asked.run = staticmethod(run)
    return Asked(x=1)


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


@pytest.mark.parametrize(
    "update",
    [lambda entity, given: entity.update(given), lambda entity, given: entity.__ior__(given)],
    ids=["update", "|="],
)
def test_update(lazy_type: type[LazyEntity], update: Callable[[Any, Any], Any]) -> None:
    """All of a dict is taken over, though the check of its values may run code."""
    lazy = lazy_type.from_bytes(write_cases.RAW)
    given: dict[str, Any] = {}

    def run() -> None:
        given.pop("last", None)

    given.update(asked=_asked_for_attributes(run), last=1)
    update(lazy, given)
    assert lazy["last"] == 1


class _Name(str):
    """A name whose hash runs code, once it is set."""

    run: Run | None = None

    def __hash__(self) -> int:
        run, self.run = self.run, None
        if run is not None:
            run()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return str(self) == other


@pytest.mark.parametrize(
    "copied",
    [lambda entity: entity.copy(), lambda entity: entity | {}, lambda entity: {} | entity],
    ids=["copy", "entity | dict", "dict | entity"],
)
def test_copies(lazy_type: type[LazyEntity], copied: Callable[[Any], Any]) -> None:
    """A copy is consistent; the pure backend may notice the change."""
    lazy: Any = lazy_type.from_bytes(write_cases.RAW)
    name = _Name("odd")
    lazy[name] = 1
    lazy["last"] = object()
    before = set(lazy)

    def run() -> None:
        # The memory of these objects is used again.
        lazy.pop("last", None)
        lazy.update({f"new {number}": [number] for number in range(40)})

    name.run = run
    result = outcome(copied, lazy)
    if isinstance(result, Raised):
        assert result == Raised(RuntimeError, "dictionary changed size during iteration")
        assert PureMapping in lazy_type.__mro__
    elif len(result) > len(before):
        # The interpreter itself asked a name for its hash before it looked into the entity.
        assert set(result) >= before - {"last"}
    else:
        assert set(result) == before


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


def test_dict_reads_one_property_after_the_other(
    lazy_type: type[LazyEntity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A property that is deleted before it is read is an error, unlike in ``copy()``."""

    def in_the_middle(*args: Any) -> Any:
        for other in ("first", "last"):
            entity.pop(other, None)
        return property_value(*args)

    _convert_by(in_the_middle, monkeypatch)
    entity = lazy_type.from_bytes(DECODED)
    with pytest.raises(KeyError):
        dict(_begun_with("list", entity))
    entity = lazy_type.from_bytes(DECODED)
    assert entity.copy().keys() <= {"first", "list", "last"}


def _begun_with(name: str, entity: Any) -> Any:
    """Give an entity an order that begins with a name."""
    for other in [other for other in entity if other != name]:
        entity[other] = entity.pop(other)
    return entity


def test_the_error_of_a_leaked_sentinel() -> None:
    """The error names the property, though looking for it runs code that changes the entity."""
    entity: Any = Entity()
    entity["asked"] = _asked_for_attributes(lambda: entity.update({f"new {len(entity)}": 1}))
    entity["leaked"] = UNDECODED
    with pytest.raises(TypeError, match="'leaked'"):
        lazyentity.raw(entity)
