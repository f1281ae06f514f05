"""Uses of libraries that validate and serialise. The models are made before anything is adapted."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import importlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

import pydantic
import pydantic_core
from google.cloud.datastore import Entity
from pydantic import BaseModel, ConfigDict, TypeAdapter, field_validator

from tests.adapters.uses import Uses, lib


class Inner(BaseModel):
    deep: str


class Public(BaseModel):
    text: str


class Error(BaseModel):
    detail: str = "not found"


class Full(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    text: str
    number: int
    inner: Inner


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow", validate_assignment=True)

    held: Any = None
    typed: Public | None = None


LOOSE: Any = Loose


class Arbitrary(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    entity: Entity


class Fallback(BaseModel):
    text: str | None

    @field_validator("text", mode="wrap")
    @classmethod
    def _or_none(cls, value: Any, handler: Any) -> Any:
        try:
            return handler(value)
        except (TypeError, ValueError):
            return None


class Prepared(BaseModel):
    text: str

    @pydantic.model_validator(mode="before")
    @classmethod
    def _shout(cls, value: Any) -> Any:
        return {**value, "text": value["text"].upper()}


class Listed(pydantic.RootModel[list[Public]]):
    pass


@pydantic.dataclasses.dataclass
class Dataclass:
    public: Public
    held: Any = None


@dataclasses.dataclass
class Plain:
    held: Any


class Holder:
    def __init__(self, entity: Any) -> None:
        self.text = "its own"
        self.number = 1
        self._entity = entity
        self.listed = [entity]

    @property
    def inner(self) -> Any:
        return self._entity["inner"]

    @property
    def entity(self) -> Any:
        return self._entity


class OfHolder(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    entity: Public | Error
    listed: list[Public | dict[str, Any]]


@pydantic.validate_call(validate_return=True)
def called(value: Public | dict[str, Any], *more: Error | Public) -> dict[str, Any]:
    return {"value": value, "more": more}


@pydantic.validate_call(validate_return=True)
def returned(value: Any) -> Public | dict[str, Any]:
    return value  # type: ignore[no-any-return]  # that is what is validated


@pydantic.validate_call(validate_return=True)
async def awaited(value: Any) -> Public | dict[str, Any]:
    return value  # type: ignore[no-any-return]  # that is what is validated


def _plain(value: Any) -> Any:
    """Make of a model what shows its fields, without any serializer."""
    if isinstance(value, BaseModel):
        fields = {**vars(value), **(value.__pydantic_extra__ or {})}
        return type(value).__name__, {name: _plain(field) for name, field in fields.items()}
    if dataclasses.is_dataclass(value):
        return type(value).__name__, {name: _plain(field) for name, field in vars(value).items()}
    if type(value) in (list, tuple, deque):
        return [_plain(item) for item in value]
    if type(value) is dict:
        return {name: _plain(item) for name, item in value.items()}
    return value


def _validated(kind: Any, value: Any, **options: Any) -> Any:
    return _plain(TypeAdapter(kind).validate_python(value, **options))


_response = functools.partial(_validated, from_attributes=True)
"""As FastAPI validates what is returned."""


def _discriminated(value: Any) -> str:
    return "public" if "text" in value else "error"


DISCRIMINATED = Annotated[
    Annotated[Public, pydantic.Tag("public")] | Annotated[Error, pydantic.Tag("error")],
    pydantic.Discriminator(_discriminated),
]


def _assigned(entity: Any) -> Any:
    model: Any = Loose()
    model.typed = entity
    model.held = [entity]
    model.added = entity
    return _plain(model)


def _constructed(entity: Any) -> Any:
    return LOOSE.model_construct(held=[entity], typed=None, added={"e": entity})


def _itself(entity: Any) -> Any:
    return entity


def _each(entity: Any) -> Iterator[Any]:
    yield entity
    yield entity


def _local(entity: Any) -> Any:
    class Outer(BaseModel):
        inner: Later

    class Later(BaseModel):
        deep: str

    return _plain(Outer(inner=entity["inner"])), _plain(Outer.model_validate(entity))


def _unknown(_: Any) -> str:
    return "unknown"


def _fallback(function: Any, entity: Any) -> Any:
    return function({"e": entity, "o": OTHER}, fallback=_unknown)


def _error(entity: Any) -> pydantic.ValidationError:
    custom = pydantic_core.PydanticCustomError("refused", "refused", {"e": [entity]})
    return pydantic.ValidationError.from_exception_data(
        "title",
        [{"type": "int_type", "input": entity}, {"type": custom, "input": 1}],
    )


OTHER = object()

UNIONS: dict[str, Any] = {
    "model": Public,
    "union with dict": Public | dict[str, Any],
    "union with dict first": dict[str, Any] | Public,
    "union with error": Public | Error,
    "left to right": Annotated[Error | Public, pydantic.Field(union_mode="left_to_right")],
    "discriminated": DISCRIMINATED,
    "fallback": Fallback,
    "before": Prepared,
    "full": Full | None,
    "dict": dict[str, Any],
    "dict of strings": dict[str, str],
    "mapping": Mapping[str, Any],
    "entity": Annotated[Any, pydantic.SkipValidation],
}

PYDANTIC: dict[str, Callable[[Any], Any]] = {
    **{
        f"{name}, {'' if from_attributes else 'not '}from attributes": functools.partial(
            _validated, kind, from_attributes=from_attributes
        )
        for name, kind in UNIONS.items()
        for from_attributes in (True, False)
    },
    "model_validate": lambda e: _plain(Public.model_validate(e)),
    "model_validate by name": lambda e: _plain(Public.model_validate(obj=e)),
    "model_validate from attributes": lambda e: _plain(Full.model_validate(e)),
    "model_validate strictly": lambda e: _plain(Full.model_validate(e, strict=True)),
    "constructor": lambda e: _plain(LOOSE(held=e, typed=e, added=[e])),
    "constructor of fields": lambda e: _plain(Full(**e)),
    "constructor, wrong": lambda e: _plain(Full(text=e, number=e, inner=e)),
    "entity as such": lambda e: Arbitrary(entity=e).entity is e,
    "list": lambda e: _response(list[Public | Error], [e, e]),
    "tuple": lambda e: _response(tuple[Public, Error], (e, e)),
    "dict of models": lambda e: _response(dict[str, Public | Error], {"e": e}),
    "deque": lambda e: _response(deque[Public], deque([e])),
    "generator": lambda e: _response(list[Public | Error], _each(e)),
    "map": lambda e: _response(list[Public | Error], map(_itself, [e, e])),
    "iterator": lambda e: _response(list[Public | Error], iter([e, e])),
    "values": lambda e: _response(list[Public | Error], {"e": e}.values()),
    "iterable": lambda e: [_plain(p) for p in TypeAdapter(Iterable[Public]).validate_python([e])],
    "any": lambda e: _validated(Any, e) is e,
    "root model": lambda e: [_plain(each) for each in Listed([e, e]).root],
    "root model, validated": lambda e: [_plain(p) for p in Listed.model_validate([e]).root],
    "dataclass": lambda e: _plain(Dataclass(e, held=[e])),
    "dataclass, validated": lambda e: _validated(Dataclass, {"public": e}),
    "attributes": lambda e: _validated(OfHolder, Holder(e), from_attributes=True),
    "attributes of attributes": lambda e: _validated(
        OfHolder, {"entity": e, "listed": [Holder(e).entity]}, from_attributes=True
    ),
    "attributes that are properties": lambda e: _plain(Full.model_validate(Holder(e))),
    "forward reference": _local,
    "assignment": _assigned,
    "validate_call": lambda e: _plain(called(e, e)),
    "validate_call by name": lambda e: _plain(called(value=e)),
    "validate_call, returned": lambda e: _plain(returned(e)),
    "validate_call, awaited": lambda e: _plain(asyncio.run(awaited(e))),
    "model_dump": lambda e: _constructed(e).model_dump(),
    "model_dump for json": lambda e: _constructed(e).model_dump(mode="json"),
    "model_dump_json": lambda e: _constructed(e).model_dump_json(),
    "model_dump without some": lambda e: Loose(held=e).model_dump(exclude={"held": {"text"}}),
    "model_dump, excluding": lambda e: Loose(held=e).model_dump(exclude_defaults=True),
    "model_dump of a list": lambda e: Listed([e]).model_dump(),
    "dump of holders": lambda e: _constructed([_constructed(e), Plain(e)]).model_dump(),
    "dump_python": lambda e: TypeAdapter(Any).dump_python([e]),
    "dump_json": lambda e: TypeAdapter(list[dict[str, Any]]).dump_json([e]),
    "dump_json of a dataclass": lambda e: TypeAdapter(Plain).dump_json(Plain(e)),
    "dump_python with a fallback": lambda e: _fallback(TypeAdapter(Any).dump_python, e),
    "copy": lambda e: _plain(_constructed(e).model_copy(deep=True)),
    "equal": lambda e: Loose(held=e) == Loose(held=dict(e)),
    "repr": lambda e: repr(LOOSE(held=e, added=e)),
    "to_json": lambda e: pydantic_core.to_json([e]),
    "to_json with a fallback": lambda e: _fallback(pydantic_core.to_json, e),
    "to_jsonable_python": lambda e: pydantic_core.to_jsonable_python({"e": e}),
    "to_jsonable with a fallback": lambda e: _fallback(pydantic_core.to_jsonable_python, e),
    "refused": lambda e: pydantic_core.to_json([e, OTHER]),
    "error as JSON": lambda e: _error(e).json(include_url=False),
    "message of an error": lambda e: pydantic_core.PydanticCustomError(
        "refused", "refused: {text}", e
    ).message(),
}


def _sqlmodel(entity: Any, method: str) -> Any:
    sqlmodel = lib.sqlmodel
    namespace = {"__annotations__": {"text": str, "inner": Public | dict[str, Any]}}
    model: Any = type("Row", (sqlmodel.SQLModel,), {**namespace, "__module__": __name__})
    if method == "constructor":
        return _plain(model(text=entity["text"], inner=entity))
    if method == "update":
        return _plain(model.model_validate({"text": "t"}, update={"inner": entity}))
    return _plain(model.model_validate(entity))


def _sqlmodel_dump(entity: Any) -> Any:
    sqlmodel = lib.sqlmodel
    namespace = {"__annotations__": {"held": Any}, "__module__": __name__}
    model = type("Held", (sqlmodel.SQLModel,), namespace)(held=[entity])
    return model.model_dump(), model.model_dump_json()


def _mashumaro(entity: Any) -> Any:
    mixins = importlib.import_module("mashumaro.mixins.orjson")
    made = dataclasses.make_dataclass(
        "Held", [("held", Any)], bases=(mixins.DataClassORJSONMixin,), namespace={}
    )
    return made(entity).to_json(), made(entity).to_dict(), made(entity).to_jsonb()


def _mashumaro_from(entity: Any) -> Any:
    base = lib.mashumaro.DataClassDictMixin
    fields = [("text", str), ("number", int), ("inner", dict[str, str])]
    made: Any = dataclasses.make_dataclass("Some", fields, bases=(base,))
    return dataclasses.asdict(made.from_dict(entity))


USES = (
    Uses("pydantic", PYDANTIC),
    Uses(
        "sqlmodel",
        {
            "model_validate": lambda e: _sqlmodel(e, "model_validate"),
            "constructor": lambda e: _sqlmodel(e, "constructor"),
            "update": lambda e: _sqlmodel(e, "update"),
            "dump": _sqlmodel_dump,
        },
    ),
    Uses("mashumaro", {"to_json": _mashumaro, "from_dict": _mashumaro_from}),
)
