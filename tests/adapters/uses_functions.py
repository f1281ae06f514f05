"""Uses of pydantic whose entities come from functions, iterators and attributes of the application.

The models are made while the library is adapted: the schemas of older ones have such functions as
they are.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any

import pydantic
from pydantic import BaseModel, ConfigDict, TypeAdapter

from tests.adapters.uses import Holds, Uses
from tests.adapters.uses_models import Error, Public, _plain

SHOWN: Any = Public | Error | dict[str, Any]
VALUE: Any = dict[str, Any]
BY_ATTRIBUTES = ConfigDict(from_attributes=True)


def _model(kind: Any, /, config: Any = None, **options: Any) -> Any:
    default = pydantic.Field(**options) if options else ...
    return pydantic.create_model("Made", __config__=config, value=(kind, default))


# Each use gets an entity that nothing was read of, so each tests a single function.

VALIDATORS: dict[str, Callable[[Any], Any]] = {
    "before": lambda e: pydantic.BeforeValidator(lambda _: e),
    "before, with info": lambda e: pydantic.BeforeValidator(lambda _, info: [e, info][0]),
    "wrap, returned": lambda e: pydantic.WrapValidator(lambda _, __: e),
    "wrap, handled": lambda e: pydantic.WrapValidator(lambda _, handler: handler(e)),
    "wrap, with info": lambda e: pydantic.WrapValidator(lambda _, handler, info: handler(e)),
    "plain": lambda e: pydantic.PlainValidator(lambda _: [e]),
}
KINDS: dict[str, Any] = {
    "union": Public | Error,
    "union of others": Error | Public | VALUE,
    "dict": VALUE,
    "any": Any,
}


def _validating(kind: Any, validator: Callable[[Any], Any], entity: Any) -> Any:
    model = _model(Annotated[kind, validator(entity)])
    made = model(value=1)
    return what_c_code_sees(made.value), what_c_code_sees(
        model.model_validate_json('{"value": 1}').value
    )


def what_c_code_sees(value: Any) -> Any:
    """Return what C code sees of a value, and of the fields of models and dataclasses."""
    if isinstance(value, BaseModel) or dataclasses.is_dataclass(value):
        extra = getattr(value, "__pydantic_extra__", None) or {}
        return type(value).__name__, what_c_code_sees({**vars(value), **extra})
    if isinstance(value, dict):
        return {name: what_c_code_sees(dict.__getitem__(value, name)) for name in dict.keys(value)}
    is_sequence = type(value) in (list, tuple, collections.deque)
    return [what_c_code_sees(item) for item in value] if is_sequence else value


def _after_is_dumped(entity: Any) -> Any:
    model = _model(Annotated[int, pydantic.AfterValidator(lambda _: entity)])(value=1)
    return model.model_dump(), model.model_dump_json()


def _methods(entity: Any, **arguments: Any) -> Any:
    class Made(BaseModel):
        text: str = ""
        inner: Public | VALUE | None = None

        @pydantic.field_validator("inner", mode="before")
        @classmethod
        def _inner(cls, _: Any) -> Any:
            return entity

        @pydantic.model_validator(mode="wrap")
        @classmethod
        def _wrapped(cls, value: Any, handler: Any) -> Any:
            return handler(value if "text" in value else entity)

        @pydantic.model_validator(mode="after")
        def _after(self) -> Any:
            return self

    return Made(**arguments)


def _default(entity: Any, kind: Any, **options: Any) -> Any:
    made = _model(kind, **options)()
    return what_c_code_sees(made.value), made.model_dump_json()


def _dataclass_default(entity: Any) -> Any:
    @pydantic.dataclasses.dataclass
    class Made:
        value: VALUE = dataclasses.field(default_factory=lambda: entity)

    adapter = TypeAdapter(Made)
    return _plain(adapter.validate_python({})), adapter.dump_json(Made())


SERIALIZERS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda e: pydantic.PlainSerializer(lambda _: e),
    "plain, typed": lambda e: pydantic.PlainSerializer(lambda _: {"e": [e]}, return_type=VALUE),
    "wrap, returned": lambda e: pydantic.WrapSerializer(lambda _, __: [e]),
    "wrap, handled": lambda e: pydantic.WrapSerializer(lambda _, handler: handler(e)),
    "wrap, with info": lambda e: pydantic.WrapSerializer(lambda _, handler, info: handler(e)),
}


def _serializing(serializer: Callable[[Any], Any], entity: Any) -> Any:
    made = _model(Annotated[Any, serializer(entity)])(value=1)
    return what_c_code_sees(made.model_dump()), made.model_dump_json()


def _serializer_methods(method: str, entity: Any) -> Any:
    class Plain(BaseModel):
        value: Any = 1

        @pydantic.field_serializer("value")
        def _plainly(self, _: Any) -> Any:
            return entity

    class Wrapped(BaseModel):
        value: Any = 1

        @pydantic.field_serializer("value", mode="wrap")
        def _wrapping(self, _: Any, handler: Any, info: Any) -> Any:
            return {"mode": info.mode, "handled": handler(entity)}

    class Whole(BaseModel):
        value: Any = 1

        @pydantic.model_serializer(mode="wrap")
        def _whole(self, handler: Any) -> Any:
            return {**handler(self), "e": entity}

    made: Any = {"plain": Plain, "wrap": Wrapped, "model": Whole}[method]()
    return (
        what_c_code_sees(made.model_dump()),
        made.model_dump_json(),
        TypeAdapter(Any).dump_json([made]),
    )


def _private(entity: Any) -> Any:
    class Made(BaseModel):
        _entity: Any = pydantic.PrivateAttr()

        @pydantic.computed_field
        def inner(self) -> VALUE:
            return self._entity["inner"]

        @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
        @functools.cached_property
        def held(self) -> Any:
            return [self._entity]

    made = Made()
    made._entity = entity
    return made.model_dump(), made.model_dump_json(), TypeAdapter(Any).dump_json([made])


def _of_class(kind: Any, entity: Any) -> Any:
    class Holder:
        value = entity

    return what_c_code_sees(_model(kind, BY_ATTRIBUTES).model_validate(Holder()).value)


def _of_property(entity: Any) -> Any:
    class Holder:
        @property
        def value(self) -> Any:
            return entity

    return _plain(_model(Public | Error, BY_ATTRIBUTES).model_validate(Holder()))


def _deep(entity: Any) -> Any:
    kind = _model(VALUE, BY_ATTRIBUTES)
    held: Any = Holds(value=entity)
    for _ in range(8):
        kind, held = _model(list[kind], BY_ATTRIBUTES), Holds(value=[held])  # type: ignore[valid-type]  # known at run time only
    return what_c_code_sees(kind.model_validate(held).model_dump())


def _items(iterate: Callable[[list[Any]], Any], kind: Any, entity: Any) -> Any:
    made = _model(dict[str, list[kind]])(value={"e": iterate([entity, entity])})
    return what_c_code_sees(made.value)


def _items_dumped(iterate: Callable[[list[Any]], Any], entity: Any) -> Any:
    return _model(Any)(value=collections.deque([iterate([entity, entity])])).model_dump_json()


def _itself(entity: Any) -> Any:
    return entity


def _all_of(entities: list[Any]) -> Any:
    for entity in entities:  # noqa: UP028  # a generator that holds the list
        yield entity


def _within(entities: list[Any]) -> Any:
    by_number = dict(enumerate(entities))
    return (by_number[number] for number in range(len(entities)))


ITERATORS: dict[str, Callable[[list[Any]], Any]] = {
    "iterator": iter,
    "generator": _all_of,
    "expression": lambda entities: (entity for entity in entities),
    "closure": _within,
    "map": lambda entities: map(_itself, filter(None, reversed(entities))),
    "values": lambda entities: iter(dict(enumerate(entities)).values()),
}


def _assigned(kind: Any, entity: Any) -> Any:
    @pydantic.dataclasses.dataclass(config={"validate_assignment": True})
    class Made:
        value: kind

    made = Made({})
    made.value = entity
    return what_c_code_sees(made.value)


def _core(entity: Any) -> Any:
    return _plain(_model(Error | Public).__pydantic_validator__.validate_python({"value": entity}))


USES = (
    Uses(
        "pydantic",
        {
            **{
                f"{name} validator, {kind}": functools.partial(_validating, KINDS[kind], validator)
                for name, validator in VALIDATORS.items()
                for kind in KINDS
            },
            "after validator": _after_is_dumped,
            "validator of a model": lambda e: _plain(_methods(e)),
            "validator of a field": lambda e: _plain(_methods(e, text="text", inner={})),
            "default": lambda e: _default(e, VALUE, default=e, validate_default=True),
            "default factory": lambda e: _default(e, VALUE, default_factory=lambda: e),
            "default factory, validated": lambda e: _default(
                e, Public | Error, default_factory=lambda: e, validate_default=True
            ),
            "default of a dataclass": _dataclass_default,
            **{
                f"{name} serializer": functools.partial(_serializing, serializer)
                for name, serializer in SERIALIZERS.items()
            },
            **{
                f"serializer method, {method}": functools.partial(_serializer_methods, method)
                for method in ("plain", "wrap", "model")
            },
            "private attributes": _private,
            "attribute of a class": functools.partial(_of_class, VALUE),
            "attribute of a class, model": functools.partial(_of_class, Error | Public),
            "property": _of_property,
            "objects in objects": _deep,
            "assignment to a dataclass": functools.partial(_assigned, VALUE),
            "assignment of a model to a dataclass": functools.partial(_assigned, Error | Public),
            "SchemaValidator": _core,
            **{
                f"items of {name}, {kind}": functools.partial(_items, iterate, KINDS[kind])
                for name, iterate in ITERATORS.items()
                for kind in KINDS
            },
            **{
                f"items of {name}, dumped": functools.partial(_items_dumped, iterate)
                for name, iterate in ITERATORS.items()
            },
        },
    ),
)
