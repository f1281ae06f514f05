"""The adapter's answers about schemas: the names of fields, and whether values need no look.

Schemas that let entities into models alone are closed: their values are not looked into beforehand.
"""

from __future__ import annotations

import datetime
import decimal
import gc
import uuid
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import pydantic
import pytest

import lazyentity
from lazyentity import LazyEntity
from lazyentity.patches.adapters import fields
from tests.adapters.uses import listed
from tests.entity.consumption import assert_consumed_alike
from tests.profiling.receiving import FIVE, Response
from tests.support.strategies.samples import PLAIN


class Plain(pydantic.BaseModel):
    a: int
    b: str = "text"


class After(Plain):
    @pydantic.model_validator(mode="after")
    def _check(self) -> Any:
        return self


class Tree(Plain):
    child: Tree | None = None


class Aliased(pydantic.BaseModel):
    first: int = pydantic.Field(validation_alias="a")
    second: int = pydantic.Field(0, validation_alias=pydantic.AliasPath("b", 0))
    third: int = pydantic.Field(
        0, validation_alias=pydantic.AliasChoices("c", pydantic.AliasPath("d", "deep"))
    )


class Allowing(Plain, extra="allow"):
    pass


class Forbidding(Plain, extra="forbid"):
    pass


class Before(Plain):
    @pydantic.model_validator(mode="before")
    @classmethod
    def _look(cls, values: Any) -> Any:
        return values


class Around(Plain):
    @pydantic.model_validator(mode="wrap")
    @classmethod
    def _look(cls, values: Any, handler: Any) -> Any:
        return handler(values)


class Constructed(Plain):
    def __init__(self, **values: Any) -> None:
        super().__init__(**values)


Root = pydantic.RootModel[dict[str, Any]]


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (Plain, ("a", "b")),
        (After, ("a", "b")),
        (Tree, ("a", "b", "child")),
        (Aliased, ("a", "first", "b", "second", "c", "d", "third")),
        *((model, None) for model in (Allowing, Forbidding, Before, Around, Constructed, Root)),
    ],
)
def test_names(model: Any, names: Any) -> None:
    """All of them are known, or none."""
    assert fields.names_of(model) == names


def test_a_class_does_not_live_longer() -> None:
    """A profile that noted it does not keep it."""
    with lazyentity.profile():
        (entity,) = Response(lazyentity.backend, [FIVE]).entities()
        entity.items()
        model = pydantic.create_model("Made", a=(int, ...))
        fields.decode_input(model, entity)
        alive = weakref.ref(model)
        del model
        gc.collect()
        assert alive() is None


def _model(_config: Any = None, **kinds: Any) -> Any:
    given: Any = {name: (kind, ...) for name, kind in kinds.items()}
    return pydantic.create_model("Model", __config__=_config, **given)


def _either(kind: Any) -> Any:
    return kind | int | None


def _classes() -> dict[str, Any]:
    """Make classes of models, which have an adapter from when they are made."""

    class Computed(pydantic.BaseModel):
        text: str

        @pydantic.computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
        @property
        def computed(self) -> Any:
            return self.text

    class Validated(pydantic.BaseModel):
        text: str

        @pydantic.field_validator("text", mode="before")
        @classmethod
        def check(cls, value: Any) -> Any:
            return value

    class Nested(pydantic.BaseModel):
        text: str
        inner: list[Nested] | None = None

    return {"computed": Computed, "code": Validated, "within itself": Nested}


CLOSED: dict[str, Callable[[], Any]] = {
    "scalars": lambda: _model(text=str, yes=bool, number=int, ratio=float, nothing=None),
    "others": lambda: _model(a=datetime.datetime, b=decimal.Decimal, c=uuid.UUID, d=bytes),
    "a list": lambda: listed(_model(text=str)),
    "numbers": lambda: listed(int),
    "models": lambda: _model(inner=_model(deep=str), inners=listed(_model(deep=str))),
    "a union": lambda: listed(_either(_model(text=str))),
    "attributes": lambda: _model({"from_attributes": True}, text=str),
    "forbidden": lambda: _model({"extra": "forbid"}, text=str),
    "within itself": lambda: _classes()["within itself"],
}
OPEN: dict[str, Callable[[], Any]] = {
    "anything": lambda: Any,
    "a dict": lambda: dict[str, int],
    "a dict of models": lambda: dict[str, _model(text=str)],  # type: ignore[misc]  # made here
    "a field": lambda: _model(text=str, inner=dict[str, Any]),
    "an inner field": lambda: _model(inner=listed(_model(any=Any))),
    "items": lambda: _model(items=Iterable[int]),
    "a list of anything": lambda: list,
    "further properties": lambda: _model({"extra": "allow"}, text=str),
    "validated again": lambda: _model({"revalidate_instances": "always"}, text=str),
    "a union": lambda: _either(dict[str, Any]),
    "computed": lambda: _classes()["computed"],
    "code": lambda: _classes()["code"],
    "a tuple": lambda: tuple[int, dict[str, Any]],
}


def _is_closed(kind: Any) -> bool:
    adapter = pydantic.TypeAdapter(kind)
    found: bool = fields.is_closed(adapter, adapter.core_schema)
    return found


@pytest.mark.parametrize("kinds", [CLOSED, OPEN], ids=["closed", "open"])
@pytest.mark.usefixtures("adapted")
def test_closed_and_open(kinds: dict[str, Callable[[], Any]]) -> None:
    found = {name: _is_closed(make()) for name, make in kinds.items()}
    assert found == dict.fromkeys(kinds, kinds is CLOSED)


class _Held:
    def __init__(self, entity: Any) -> None:
        self.text = "text"
        self.inner = entity
        self.inners = [entity, {"deep": entity}]

    def __repr__(self) -> str:
        # The error of pydantic has it.
        return "held"


VALUES: dict[str, Callable[[Any], Any]] = {
    "an entity": lambda e: e,
    "a list": lambda e: [e, {"text": "x", "inner": e}],
    "embedded": lambda e: {"text": "x", "inner": e["inner"], "inners": [e["inner"]]},
    "in a list of the application": lambda e: type("L", (list,), {})([e]),
    "in an iterator": lambda e: iter([e]),
    "refused": lambda e: {"text": e, "inner": [e], "inners": e},
    "in attributes": _Held,
}


def _outcome(function: Callable[[Any], Any], value: Any) -> Any:
    """Return what an application can see of the result or the error."""
    try:
        made = function(value)
    except pydantic.ValidationError as error:
        errors = error.errors(include_url=False)
        # The error holds parts of the value, and C code writes them.
        return [(each["type"], each["loc"]) for each in errors], error.json(include_url=False)
    return pydantic.TypeAdapter(Any).dump_python(made)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", [*CLOSED, *(name for name in OPEN if name != "anything")])
@pytest.mark.usefixtures("adapted")
def test_as_stock(name: str, value: str) -> None:
    """With each sort of schema, value and method; errors have decoded inputs."""
    kind: Any = (CLOSED.get(name) or OPEN[name])()
    adapter = pydantic.TypeAdapter(kind)

    def use(entity: Any) -> Any:
        methods: list[Callable[[Any], Any]] = [
            adapter.validate_python,
            lambda made: adapter.validate_python(made, from_attributes=True),
        ]
        if hasattr(kind, "model_validate"):
            methods.append(kind.model_validate)
            if isinstance(VALUES[value](entity), dict):
                methods.append(lambda made: kind(**made))
        return [_outcome(method, VALUES[value](entity)) for method in methods]

    assert_consumed_alike(use, LazyEntity.from_bytes(PLAIN), PLAIN)
