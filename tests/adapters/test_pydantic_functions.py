"""Functions that pydantic-core calls, with lazy entities and, as the oracle, with stock ones."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pydantic
import pytest

import lazyentity
from lazyentity import LazyEntity, search
from lazyentity.patches import adapters
from lazyentity.pure.search import EntityFinder
from tests.support.snapshots import outcome
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN

Make = Callable[[], Any]


@pytest.fixture(autouse=True)
def _unpatched() -> Iterator[None]:
    yield
    lazyentity.unpatch()


def _stock() -> Any:
    return in_order_of(LazyEntity.from_bytes(PLAIN), stock_entity(PLAIN))


def _both(use: Callable[[Make], Any]) -> tuple[Any, Any]:
    """Return the outcome of ``use`` with stock entities, unpatched, and with lazy ones, patched."""
    stock = outcome(use, _stock)
    lazyentity.patch()
    try:
        return stock, outcome(use, lambda: LazyEntity.from_bytes(PLAIN))
    finally:
        lazyentity.unpatch()


class Held(pydantic.BaseModel):
    held: Any = None


class Holder(pydantic.BaseModel):
    inner: Any = None


def _holding(make: Make) -> Any:
    return Holder.model_construct(inner=[Held.model_construct(held=make())])


def _raw(value: Any) -> Any:
    """Return what C code sees of a value, with the names of the types."""
    if isinstance(value, dict):
        return {name: _raw(dict.__getitem__(value, name)) for name in dict.keys(value)}
    if type(value) is list:
        return list(map(_raw, value))
    return type(value).__name__, repr(value)


def _dumped(made: Any) -> Any:
    # Parsed: entities that are made inside of pydantic's calls are eager, in the order of stock's.
    return _raw(made.dump_python(1)), json.loads(made.dump_json(1))


def _plain_serializer(make: Make) -> Any:
    kind = Annotated[int, pydantic.PlainSerializer(lambda _: _holding(make))]
    return _dumped(pydantic.TypeAdapter(kind))


def _wrap_serializer(make: Make) -> Any:
    kind = Annotated[int, pydantic.WrapSerializer(lambda _, __: _holding(make))]
    return _dumped(pydantic.TypeAdapter(kind))


def _handled_by_serializer(make: Make) -> Any:
    kind = Annotated[Any, pydantic.WrapSerializer(lambda _, handler: handler(_holding(make)))]
    return _dumped(pydantic.TypeAdapter(kind))


def _filling_serializer(make: Make) -> Any:
    """Return the model that the serializer gets, with an entity that it did not have."""

    def fill(held: Any) -> Any:
        held.held = make()
        return held

    adapter = pydantic.TypeAdapter(Annotated[Held, pydantic.PlainSerializer(fill)])
    dumped = adapter.dump_python(Held())
    return _raw(dumped if type(dumped) is dict else dumped.held), json.loads(
        adapter.dump_json(Held())
    )


def _model_serializer(make: Make) -> Any:
    class Made(pydantic.BaseModel):
        @pydantic.model_serializer
        def _dump(self) -> Any:
            return {"made": _holding(make)}

    return _raw(Made().model_dump()), json.loads(Made().model_dump_json())


@pytest.mark.parametrize(
    "use",
    [
        _plain_serializer,
        _wrap_serializer,
        _handled_by_serializer,
        _filling_serializer,
        _model_serializer,
    ],
)
def test_models_that_serializers_return(use: Callable[[Make], Any]) -> None:
    """Entities in models inside models are decoded: pydantic-core serialises them."""
    stock, lazy = _both(use)
    assert lazy == stock


HANDLING: dict[str, Callable[[Any, Any], Any]] = {
    "outer_location": lambda value, handler: handler(value, outer_location="x"),
    "position": lambda value, handler: handler(value, "x"),
    "input_value": lambda value, handler: handler(input_value=value),
    "index_key": lambda value, handler: handler(value, index_key=1),
    "value": lambda value, handler: handler(value=value),
    "nothing": lambda value, handler: handler(),
    "unknown": lambda value, handler: handler(value, unknown=1),
    "kind": lambda value, handler: type(handler).__name__,
}


@pytest.mark.parametrize("handle", HANDLING.values(), ids=HANDLING)
@pytest.mark.parametrize("value", ["3", "no number"])
def test_keywords_of_handlers_of_validators(handle: Callable[[Any, Any], Any], value: str) -> None:
    """A validator gets pydantic-core's own handler."""

    def use(_: Make) -> Any:
        validator = pydantic.WrapValidator(handle)
        try:
            return pydantic.TypeAdapter(Annotated[int, validator]).validate_python(value)
        except pydantic.ValidationError as error:
            return error.errors(include_url=False)

    stock, lazy = _both(use)
    assert lazy == stock


@pytest.mark.parametrize("name", ["position", "index_key", "nothing", "unknown"])
def test_keywords_of_handlers_of_serializers(name: str) -> None:
    def use(_: Make) -> Any:
        kind = Annotated[Any, pydantic.WrapSerializer(HANDLING[name])]
        return pydantic.TypeAdapter(kind).dump_python([3])

    stock, lazy = _both(use)
    assert lazy == stock


def test_handlers_after_unpatching() -> None:
    """A function that was adapted gets pydantic-core's own handler then."""
    lazyentity.patch()
    kind = Annotated[Any, pydantic.WrapSerializer(lambda _, handler: type(handler).__name__)]
    adapter = pydantic.TypeAdapter(kind)
    patched = adapter.dump_python(1)
    adapters.remove()
    assert adapter.dump_python(1) != patched
    assert adapter.dump_python(1) == pydantic.TypeAdapter(kind).dump_python(1)


def test_handled_values_in_unions() -> None:
    """A union chooses the same member, and fails with the same error."""

    def use(make: Make) -> Any:
        wrapped = Annotated[int, pydantic.WrapValidator(lambda value, handler: handler(value))]
        adapter = pydantic.TypeAdapter(list[wrapped | str | Annotated[float, "exact"]])
        strict = pydantic.TypeAdapter(wrapped | list[wrapped])
        with pytest.raises(pydantic.ValidationError) as error:
            strict.validate_python(["x"])
        return (
            _raw(adapter.validate_python([1, "1", 1.0, 2.5, True])),
            _raw(adapter.validate_json('[1, "1", 1.0, 2.5, true]')),
            error.value.errors(include_url=False),
            str(error.value),
            strict.json_schema(),
            strict.json_schema(mode="serialization"),
        )

    stock, lazy = _both(use)
    assert lazy == stock


def test_assignments_and_defaults_through_handlers() -> None:
    def use(make: Make) -> Any:
        class Made(pydantic.BaseModel):
            model_config = pydantic.ConfigDict(validate_assignment=True)
            number: int = 1
            inner: dict[str, Any] | None = None

            @pydantic.model_validator(mode="wrap")
            @classmethod
            def _wrapped(cls, value: Any, handler: Any) -> Any:
                return handler(value)

            @pydantic.field_validator("number", mode="wrap")
            @classmethod
            def _number(cls, value: Any, handler: Any) -> Any:
                return handler(value)

        made: Any = Made()
        made.number = "3"
        made.inner = make()
        return _raw(made.model_dump()), sorted(made.model_fields_set), Made.model_json_schema()

    stock, lazy = _both(use)
    assert lazy == stock


def _deepest(adapter: Any) -> int:
    """Return how deep the values are that can be validated, in steps."""
    reached = 0
    for depth in range(20, 300, 20):
        value: Any = {}
        for _ in range(depth):
            value = {"child": value}
        try:
            adapter.model_validate(value)
        except (RecursionError, pydantic.ValidationError):
            break
        reached = depth
    return reached


def _wrapping_node() -> Any:
    class Wrapping(pydantic.BaseModel):
        child: Wrapping | None = None

        @pydantic.model_validator(mode="wrap")
        @classmethod
        def _wrapped(cls, value: Any, handler: Any) -> Any:
            return handler(value)

    Wrapping.model_rebuild(_types_namespace={"Wrapping": Wrapping})
    return Wrapping


def test_depth_of_nested_handlers() -> None:
    """The adapted function adds a frame to each level, and the handler adds none."""
    stock = _deepest(_wrapping_node())
    lazyentity.patch()
    assert _deepest(_wrapping_node()) >= stock * 3 // 4


def test_validators_with_handlers_are_pickled() -> None:
    """Without anything of lazyentity's in the pickle, or in a copy."""
    lazyentity.patch()
    validator = pydantic.TypeAdapter(_Wrapped).validator
    pickled = pickle.dumps(validator)
    assert b"lazyentity" not in pickled
    for made in (pickle.loads(pickled), copy.deepcopy(validator)):
        assert made.validate_python("3") == 3


def _passed_on(value: Any, handler: Any) -> Any:
    return handler(value)


_passed_on.__module__ = __name__
_Wrapped = Annotated[int, pydantic.WrapValidator(_passed_on)]


ITERATORS: dict[str, Callable[[], Any]] = {
    "list": lambda: iter([1, "a"]),
    "tuple": lambda: iter((1, 2)),
    "values": lambda: iter({"a": 1}.values()),
    "items": lambda: iter({"a": 1}.items()),
    "set": lambda: iter({1}),
    "reversed": lambda: reversed([1, 2]),
    "dicts": lambda: iter([{"a": 1}]),
}


@pytest.mark.parametrize("make", ITERATORS.values(), ids=ITERATORS)
def test_iterators_without_entities(make: Callable[[], Any]) -> None:
    """An iterator of a container that holds no entity stays the object that it was."""
    lazyentity.patch()
    made = make()
    validator = pydantic.PlainValidator(lambda _: made)
    assert pydantic.TypeAdapter(Annotated[Any, validator]).validate_python(1) is made
    field = pydantic.Field(default_factory=lambda: made)
    model: Any = pydantic.create_model("Made", it=(Any, field))
    assert model().it is made
    assert pydantic.TypeAdapter(Any).validate_python(made) is made


@pytest.mark.parametrize(
    "hold",
    [lambda e: iter([e]), lambda e: iter({"a": e}.items()), lambda e: iter([{"a": [e]}])],
)
def test_iterators_with_entities(hold: Callable[[Any], Any]) -> None:
    lazyentity.patch()
    entity = LazyEntity.from_bytes(PLAIN)
    validator = pydantic.PlainValidator(lambda _: hold(entity))
    list(pydantic.TypeAdapter(Annotated[Any, validator]).validate_python(1))
    assert entity._undecoded() == []


def test_iterators_of_an_entity() -> None:
    """Its storage may hold sentinels, which are no values."""
    entity = LazyEntity.from_bytes(PLAIN)
    values = list(search.decoded_in_place(iter(entity.values())))
    assert _raw(values) == _raw(list(_stock().values()))


class Comparing(type):
    """Makes classes that have no hash."""

    def __eq__(cls, other: object) -> bool:
        return cls is other


class Unhashable(metaclass=Comparing):
    def __init__(self, held: Any = None) -> None:
        self.held = held


class UnhashableDict(dict[str, Any], metaclass=Comparing):
    pass


WALKS = {"chosen": search._chosen, "pure": search._finder_of(EntityFinder)}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize("kind", [Unhashable, lambda held: UnhashableDict(held=held)])
def test_classes_without_a_hash(walk: Any, kind: Callable[[Any], Any]) -> None:
    """Entities in their instances are found as in others."""
    assert not walk.is_plain(kind(1))
    assert not walk.is_plain({"a": kind(1)})
    assert not walk.decode([kind(1)])
    for wrap in (lambda held: held, lambda held: [1, held], lambda held: {"a": (held,)}):
        entity = LazyEntity.from_bytes(PLAIN)
        assert walk.decode(wrap(kind(entity)))
        assert entity._undecoded() == []


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_records_without_a_hash(walk: Any) -> None:
    kind = dataclasses.make_dataclass("Kind", ["held"], namespace={})
    made = Comparing("Made", (kind,), {})
    entity = LazyEntity.from_bytes(PLAIN)
    assert walk.decode([made(entity)], True)
    assert entity._undecoded() == []


def test_values_whose_class_has_no_hash() -> None:
    def use(_: Make) -> Any:
        value = Unhashable()
        model: Any = pydantic.create_model("Made", x=(Any, ...))
        adapter = pydantic.TypeAdapter(list[Any])
        validator = pydantic.PlainValidator(lambda _: value)
        return (
            model(x=value).x is value,
            adapter.validate_python([value])[0] is value,
            pydantic.TypeAdapter(Annotated[Any, validator]).validate_python(1) is value,
            type(model(x=value).model_dump()["x"]).__name__,
        )

    stock, lazy = _both(use)
    assert lazy == stock
