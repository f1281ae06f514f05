"""Adapters keep no class alive, and hand on the objects that they were given."""

from __future__ import annotations

import dataclasses
import functools
import gc
import itertools
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Generic, TypeVar

import pytest

from lazyentity import LazyEntity
from lazyentity._inplace import SLOTS
from lazyentity.search import decode_in_place, decoded_in_place
from tests.support.strategies.samples import PLAIN

pydantic: Any = pytest.importorskip("pydantic")


# Each test collects garbage.
pytestmark = pytest.mark.usefixtures("only_new_objects", "adapted")


def _slotted() -> type:
    @dataclasses.dataclass(slots=True)
    class Slotted:
        held: Any

    return Slotted


def _ordinary() -> type:
    class Ordinary:
        __slots__ = ("__dict__", "__weakref__", "held")

        def __init__(self, held: Any) -> None:
            self.held = held

    return Ordinary


KINDS: dict[str, Callable[[], type]] = {
    "slots": _slotted,
    "dataclass": lambda: dataclasses.make_dataclass("WithDict", ["held"]),
    "ordinary": _ordinary,
    "attrs": lambda: pytest.importorskip("attrs").make_class("Attrs", ["held"], slots=True),
    "struct": lambda: pytest.importorskip("msgspec").defstruct("Struct", [("held", Any)]),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_classes_that_were_looked_into(walk: Any, make: Callable[[], type]) -> None:
    kind = make()
    entity = LazyEntity.from_bytes(PLAIN)
    assert walk.decode([kind(entity)])
    assert entity._undecoded() == []
    gone = weakref.ref(kind)
    del kind
    gc.collect()
    assert gone() is None


def test_another_class_at_the_same_address(walk: Any) -> None:
    """Facts about a class that has gone do not count for the next one."""
    addresses = set()
    for number in range(200):
        name = f"held{number % 7}"
        made = type("Made", (), {"__slots__": (name,), "__attrs_attrs__": ()})
        addresses.add(id(made))
        entity = LazyEntity.from_bytes(PLAIN)
        holder = made()
        setattr(holder, name, entity)
        assert walk.decode([holder])
        assert entity._undecoded() == []
        del made, holder
        gc.collect(0)
    # Otherwise nothing was shown.
    assert len(addresses) < 200


_T = TypeVar("_T")


def _model() -> type:
    def check(value: int) -> int:
        return value

    checked = Annotated[int, pydantic.AfterValidator(check)]
    made: Any = pydantic.create_model("Made", value=(checked, ...))
    made(value=1).model_dump_json()
    made.model_validate({"value": 1})
    decode_in_place([made(value=1)])
    return made  # type: ignore[no-any-return]  # a class


def _generic() -> type:
    class Inner(pydantic.BaseModel, Generic[_T]):  # type: ignore[misc]  # as above
        held: _T

    class Outer(pydantic.BaseModel, Generic[_T]):  # type: ignore[misc]  # as above
        inner: Inner[_T]

    made: type = Outer[int]
    pydantic.TypeAdapter(made).validate_python({"inner": {"held": 1}})
    return made


def _dataclass() -> type:
    class Made:
        value: int

    made: Any = pydantic.dataclasses.dataclass(Made)
    pydantic.TypeAdapter(made).dump_python(made(value=1))
    return made  # type: ignore[no-any-return]  # a class


def _of_validate_call() -> type:
    made = _model()

    def call(value: Any) -> Any:
        return value

    call.__annotations__ = {"value": made, "return": made}
    pydantic.validate_call(validate_return=True)(call)({"value": 1})
    return made


@pytest.mark.parametrize("make", [_model, _generic, _dataclass, _of_validate_call])
def test_classes_of_pydantic(make: Callable[[], type]) -> None:
    """The last one as well, of which nothing was made after it."""
    gone = weakref.ref(make())
    # Some of them are in cycles through objects that are collected one after the other.
    for _ in range(3):
        gc.collect()
    assert gone() is None


CONTAINED: dict[str, Callable[[], Any]] = {
    "list": lambda: iter([1, "a"]),
    "tuple": lambda: iter((1, 2)),
    "values": lambda: iter({"a": 1}.values()),
    "items": lambda: iter({"a": 1}.items()),
    "set": lambda: iter({1}),
    "reversed": lambda: reversed([1, 2]),
    "dicts": lambda: iter([{"a": 1}]),
}
"""Iterators of containers that hold no entity, which stay themselves on both backends."""

ITERATORS: dict[str, Callable[[], Any]] = {
    **CONTAINED,
    "generator": lambda: (number for number in (1, 2)),
    "map": lambda: map(operator.neg, (1, 2)),
    "zip": lambda: zip((1, 2), strict=True),
    "chain": lambda: itertools.chain((1, 2)),
}


@pytest.mark.parametrize("name", ITERATORS if SLOTS else CONTAINED)
def test_iterators_stay_themselves(name: str) -> None:
    given = ITERATORS[name]()
    assert decoded_in_place(given) is given
    anything: Any = pydantic.create_model("Anything", value=(Any, ...))
    assert anything(value=given).value is given
    assert anything.model_validate({"value": given}).value is given
    assert pydantic.TypeAdapter(Any).validate_python(given) is given
    validator = pydantic.PlainValidator(lambda _: given)
    assert pydantic.TypeAdapter(Annotated[Any, validator]).validate_python(1) is given
    sequence = pydantic.create_model("Sequences", value=(Sequence[int], ...))
    acts: list[Callable[[], object]] = [
        lambda: sequence(value=given),
        lambda: sequence.model_validate({"value": given}),
    ]
    for act in acts:
        with pytest.raises(pydantic.ValidationError) as raised:
            act()
        assert raised.value.errors()[0]["input"] is given


@pytest.mark.parametrize("name", ITERATORS)
def test_a_factory_keeps_its_iterator(name: str) -> None:
    given = ITERATORS[name]()
    made = pydantic.create_model("Made", value=(Any, pydantic.Field(default_factory=lambda: given)))
    assert (made().value is given) is (SLOTS or name in CONTAINED)


@pytest.mark.parametrize(
    "hold", [lambda e: iter([e]), lambda e: iter({"a": e}.items()), lambda e: iter([{"a": [e]}])]
)
def test_iterators_with_entities(hold: Callable[[Any], Any]) -> None:
    entity = LazyEntity.from_bytes(PLAIN)
    validator = pydantic.PlainValidator(lambda _: hold(entity))
    list(pydantic.TypeAdapter(Annotated[Any, validator]).validate_python(1))
    assert entity._undecoded() == []


_KEPT: dict[str, LazyEntity] = {}


def _generated() -> Iterator[Any]:
    yield _KEPT["entity"]


def _twice(value: Any) -> Any:
    return value


_LATER: dict[str, Callable[[], Iterator[Any]]] = {
    "generator": _generated,
    "expression": lambda: (each for each in _KEPT.values()),
    "map": lambda: map(_KEPT.__getitem__, ["entity"]),
    "starmap": lambda: itertools.starmap(_twice, [(_KEPT["entity"],)]),
    "zip": lambda: (pair[0] for pair in zip(_generated(), strict=True)),
    "chain": lambda: itertools.chain(_generated(), ()),
    "filter": lambda: filter(None, _generated()),
}


@pytest.mark.parametrize("name", _LATER)
@pytest.mark.parametrize("validated", [list[dict[str, Any]], Iterable[dict[str, Any]]])
def test_items_are_decoded_as_they_come(name: str, validated: Any) -> None:
    """Of an iterator that makes them later: nothing is consumed before, nor is another one made."""
    _KEPT["entity"] = LazyEntity.from_bytes(PLAIN)
    adapter = pydantic.TypeAdapter(validated)
    (found,) = adapter.validate_python(_LATER[name]())
    assert found["text"] == "Grüße"
    assert _KEPT["entity"]._undecoded() == []
    _KEPT["entity"] = LazyEntity.from_bytes(PLAIN)
    assert b"deep" in pydantic.TypeAdapter(Any).dump_json(_LATER[name]())


@pytest.mark.parametrize(
    "make",
    [
        functools.partial(map, _twice),
        functools.partial(itertools.starmap, _twice),
        lambda items: itertools.accumulate(items, max),
    ],
    ids=["map", "starmap", "accumulate"],
)
def test_an_iterator_at_the_address_of_another_one(make: Callable[[Any], Iterator[Any]]) -> None:
    """That was searched, and went before its end: the items of the new one are not decoded."""
    entities = [LazyEntity.from_bytes(PLAIN) for _ in range(300)]
    # Made before: these do not get an address of the iterators that go.
    items: list[Any] = [iter([(entity,)]) for entity in entities]
    iterators = [make(iter(())) for _ in entities]
    decode_in_place(iterators)
    addresses = set(map(id, iterators))
    iterators.clear()
    iterators += map(make, items)
    assert addresses & set(map(id, iterators))
    assert sum(len(list(iterator)) for iterator in iterators) == len(entities)
    assert all(len(entity._undecoded()) == len(entity) for entity in entities)


def test_the_end_of_a_generator_is_its_own() -> None:
    """Errors, and what an unfinished one gets; others are not touched."""

    def failing() -> Iterator[Any]:
        yield 1
        raise KeyError("own")

    adapter = pydantic.TypeAdapter(list[int])
    with pytest.raises(pydantic.ValidationError, match="KeyError: 'own'"):
        adapter.validate_python(failing())
    closed = []

    def watched() -> Iterator[Any]:
        try:
            yield from (1, "no number")
        finally:
            closed.append(True)

    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python(watched())
    gc.collect()
    assert closed == [True]
    entity = LazyEntity.from_bytes(PLAIN)
    assert list(each for each in [entity]) == [entity]  # noqa: C400  # a generator
    assert len(entity._undecoded()) == len(entity)
