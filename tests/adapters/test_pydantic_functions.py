"""Functions and objects of the application that pydantic-core meets; stock is the oracle."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pydantic
import pydantic_core
import pytest
from pydantic_core import core_schema

import lazyentity
from lazyentity import LazyEntity
from lazyentity._inplace import SLOTS
from lazyentity.patches import adapters
from tests.adapters.test_decoding import Comparing
from tests.adapters.uses import Holds
from tests.adapters.uses_models import Full
from tests.support.snapshots import outcome
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN

Make = Callable[[], Any]


@pytest.fixture(autouse=True)
def _unpatched() -> Iterator[None]:
    yield
    lazyentity.unpatch()


class Held(pydantic.BaseModel):
    held: Any = None


class Holder(pydantic.BaseModel):
    inner: Any = None


def _holding(make: Make) -> Any:
    return Holder.model_construct(inner=[Held.model_construct(held=make())])


def _raw(value: Any) -> Any:
    """Return what C code sees of a value, with the names of the types, but in any order."""
    if isinstance(value, dict):
        return {name: _raw(dict.__getitem__(value, name)) for name in dict.keys(value)}
    return list(map(_raw, value)) if type(value) is list else (type(value).__name__, repr(value))


def _dumped(made: Any) -> Any:
    # Parsed: entities that are made inside of pydantic's calls are eager, in the order of stock's.
    return _raw(made.dump_python(1)), json.loads(made.dump_json(1))


def _serialized(kind: Any, make: Callable[[Make], Any]) -> Callable[[Make], Any]:
    return lambda given: _dumped(pydantic.TypeAdapter(Annotated[kind, make(given)]))


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


def _validator_handles(handle: Any, value: str, _: Make) -> Any:
    """Return what a validator makes of a value, which gets pydantic-core's own handler."""
    validator = pydantic.WrapValidator(handle)
    try:
        return pydantic.TypeAdapter(Annotated[int, validator]).validate_python(value)
    except pydantic.ValidationError as error:
        return error.errors(include_url=False)


def _serializer_handles(handle: Any, _: Make) -> Any:
    kind = Annotated[Any, pydantic.WrapSerializer(handle)]
    return pydantic.TypeAdapter(kind).dump_python([3])


def _unions(_: Make) -> Any:
    """Return which members unions choose, and with which error they fail."""
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


def _assignments(make: Make) -> Any:
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


class Unhashable(metaclass=Comparing):
    pass


def _no_hash(_: Make) -> Any:
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


def _own_signature(make: Make) -> Any:
    def function(one: Any, two: Any) -> Any:
        return one, two

    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # as decorators do
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("a", "b")]
    )
    return pydantic.validate_call(function)([object, make()], 2)


def _any_object(make: Make) -> Any:
    @pydantic.validate_call
    def function(rows: list[Any], number: int) -> Any:
        return rows[1:], number

    return function([object(), make()], 2)


class _OwnCheck(type(pydantic.BaseModel)):  # type: ignore[misc]  # its metaclass
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is cls


class _Checked(pydantic.BaseModel, metaclass=_OwnCheck):
    text: Any = None
    integer: int | None = None


def _own_check_inside(make: Make) -> Any:
    return pydantic.TypeAdapter(list[_Checked]).validate_python([make()])[0].model_dump()


class _Attributes(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(from_attributes=True)

    held: dict[str, Any]
    inner: Any = pydantic.Field(None, validation_alias=pydantic.AliasPath("path", "inner"))


class _ByProperty:
    def __init__(self, entity: Any) -> None:
        self.kept = [entity]
        self.__dict__["held"] = {}

    @property
    def held(self) -> Any:
        return self.kept[0]


class _ByMethod:
    def __init__(self, entity: Any) -> None:
        self.kept = [entity]

    def __getattribute__(self, name: str) -> Any:
        kept = super().__getattribute__("kept")
        return kept[0] if name == "held" else super().__getattribute__(name)


def _attributes(kind: Callable[[Any], Any], make: Make) -> Any:
    return _Attributes.model_validate(kind(make())).model_dump()


def _validator_of_fields(make: Make) -> Any:
    fields = core_schema.model_fields_schema(
        {"text": core_schema.model_field(core_schema.str_schema())}, from_attributes=True
    )
    validator = pydantic_core.SchemaValidator(fields)
    return validator.validate_python(make()), validator.isinstance_python(make())


def _instance_that_was_made(make: Make) -> Any:
    validate: Any = Full.__pydantic_validator__.validate_python
    return validate(make(), self_instance=Full.__new__(Full)).model_dump()


_ANY: Any = pydantic.TypeAdapter(Any)
_BOUND_BEFORE = _ANY.serializer.to_json, _ANY.serializer.to_python, _ANY.validator.isinstance_python


def _bound_before(make: Make) -> Any:
    to_json, to_python, is_instance = _BOUND_BEFORE
    return json.loads(to_json([make()])), to_python([make()]), is_instance(make())


_WRAPPED = pydantic.WrapSerializer
CASES: dict[str, Callable[[Make], Any]] = {
    # pydantic-core serialises models that such a function returns, with entities deep in them.
    "plain serializer": _serialized(
        int, lambda make: pydantic.PlainSerializer(lambda _: _holding(make))
    ),
    "wrap serializer": _serialized(int, lambda make: _WRAPPED(lambda _, __: _holding(make))),
    "handled by a serializer": _serialized(
        Any, lambda make: _WRAPPED(lambda _, handler: handler(_holding(make)))
    ),
    "filling serializer": _filling_serializer,
    "model serializer": _model_serializer,
    **{
        f"validator's handler, {name}, {value}": functools.partial(_validator_handles, use, value)
        for name, use in HANDLING.items()
        for value in ("3", "no number")
    },
    **{
        f"serializer's handler, {name}": functools.partial(_serializer_handles, HANDLING[name])
        for name in ("position", "index_key", "nothing", "unknown")
    },
    "unions": _unions,
    "assignments and defaults": _assignments,
    "class without a hash": _no_hash,
    "own signature": _own_signature,
    "arguments that are no data": _any_object,
    "own check": lambda make: _Checked.model_validate(make()).model_dump(),
    "own check inside": _own_check_inside,
    # Wherever an object has its attributes from.
    "attribute, property": functools.partial(_attributes, _ByProperty),
    "attribute, method": functools.partial(_attributes, _ByMethod),
    "attribute, path": functools.partial(
        _attributes, lambda entity: Holds(held={}, path=Holds(inner=entity))
    ),
    # Validators that are called directly.
    "validator of fields": _validator_of_fields,
    "instance that was made": _instance_that_was_made,
}
if SLOTS:
    # The pure backend replaces no bound methods.
    CASES["bound before"] = _bound_before


@pytest.mark.parametrize("use", CASES.values(), ids=CASES)
def test_same_result(use: Callable[[Make], Any]) -> None:
    """With stock entities, unpatched, and with lazy ones, patched."""
    stock = outcome(use, lambda: in_order_of(LazyEntity.from_bytes(PLAIN), stock_entity(PLAIN)))
    lazyentity.patch()
    assert outcome(use, lambda: LazyEntity.from_bytes(PLAIN)) == stock


def test_handlers_after_unpatching() -> None:
    """A function that was adapted gets pydantic-core's own handler then."""
    lazyentity.patch()
    kind = Annotated[Any, pydantic.WrapSerializer(lambda _, handler: type(handler).__name__)]
    adapter = pydantic.TypeAdapter(kind)
    patched = adapter.dump_python(1)
    adapters.remove()
    assert adapter.dump_python(1) != patched
    assert adapter.dump_python(1) == pydantic.TypeAdapter(kind).dump_python(1)


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


def _passed_on(value: Any, handler: Any) -> Any:
    return handler(value)


def _as_number(value: Any) -> Any:
    return int(value)


@pytest.mark.parametrize(
    "kind",
    [
        Annotated[int, pydantic.WrapValidator(_passed_on)],
        Annotated[int, pydantic.BeforeValidator(_as_number)],
    ],
)
def test_validators_with_functions_are_pickled(kind: Any) -> None:
    """Without anything of lazyentity's in the pickle, or in a copy."""
    lazyentity.patch()
    validator = pydantic.TypeAdapter(kind).validator
    pickled = pickle.dumps(validator)
    assert b"lazyentity" not in pickled
    for made in (pickle.loads(pickled), copy.deepcopy(validator)):
        assert made.validate_python("3") == 3


class _Service:
    def __init__(self) -> None:
        self.rows = [LazyEntity.from_bytes(PLAIN)]

    @pydantic.validate_call
    def add(self, number: int) -> int:
        return number


def test_a_missing_argument_leaves_the_unread_ones_alone() -> None:
    """Its error has all other arguments, of which pydantic reads none."""
    lazyentity.patch()
    for _ in range(6):
        service: Any = _Service()
    with pytest.raises(pydantic.ValidationError):
        service.add()
    assert service.rows[0]._undecoded()
