"""Schemas that let entities into models alone: their values are not looked into beforehand."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from lazyentity import LazyEntity
from tests.adapters.uses import installed
from tests.entity.consumption import assert_consumed_alike
from tests.support.strategies.samples import PLAIN

pydantic = pytest.importorskip("pydantic")
fields = pytest.importorskip("lazyentity.patches.adapters.fields")


@pytest.fixture(autouse=True)
def _adapters() -> Iterator[None]:
    with installed():
        yield


def _model(_config: Any = None, **kinds: Any) -> Any:
    given: Any = {name: (kind, ...) for name, kind in kinds.items()}
    return pydantic.create_model("Model", __config__=_config, **given)


def _listed(kind: Any) -> Any:
    return list[kind]


def _either(kind: Any) -> Any:
    return kind | int | None


def _computed() -> Any:
    class Model(pydantic.BaseModel):  # type: ignore[misc,name-defined]  # the module is any
        text: str

        @pydantic.computed_field  # type: ignore[prop-decorator,untyped-decorator]  # as above
        @property
        def computed(self) -> Any:
            return self.text

    return Model


def _validated() -> Any:
    class Model(pydantic.BaseModel):  # type: ignore[misc,name-defined]  # the module is any
        text: str

        @pydantic.field_validator("text", mode="before")  # type: ignore[untyped-decorator]  # as above
        @classmethod
        def check(cls, value: Any) -> Any:
            return value

    return Model


def _nested() -> Any:
    class Model(pydantic.BaseModel):  # type: ignore[misc,name-defined]  # the module is any
        text: str
        inner: list[Model] | None = None

    Model.model_rebuild(_types_namespace={"Model": Model})
    return Model


CLOSED: dict[str, Callable[[], Any]] = {
    "scalars": lambda: _model(text=str, yes=bool, number=int, ratio=float, nothing=None),
    "others": lambda: _model(a=datetime.datetime, b=decimal.Decimal, c=uuid.UUID, d=bytes),
    "a list": lambda: _listed(_model(text=str)),
    "numbers": lambda: _listed(int),
    "models": lambda: _model(inner=_model(deep=str), inners=_listed(_model(deep=str))),
    "a union": lambda: _listed(_either(_model(text=str))),
    "attributes": lambda: _model({"from_attributes": True}, text=str),
    "forbidden": lambda: _model({"extra": "forbid"}, text=str),
    "within itself": _nested,
}
OPEN: dict[str, Callable[[], Any]] = {
    "anything": lambda: Any,
    "a dict": lambda: dict[str, int],
    "a dict of models": lambda: dict[str, _model(text=str)],  # type: ignore[misc]  # made here
    "a field": lambda: _model(text=str, inner=dict[str, Any]),
    "an inner field": lambda: _model(inner=_listed(_model(any=Any))),
    "items": lambda: _model(items=Iterable[int]),
    "a list of anything": lambda: list,
    "further properties": lambda: _model({"extra": "allow"}, text=str),
    "validated again": lambda: _model({"revalidate_instances": "always"}, text=str),
    "a union": lambda: _either(dict[str, Any]),
    "computed": _computed,
    "code": _validated,
    "a tuple": lambda: tuple[int, dict[str, Any]],
}


def _is_closed(kind: Any) -> bool:
    adapter = pydantic.TypeAdapter(kind)
    found: bool = fields.is_closed(adapter, adapter.core_schema)
    return found


@pytest.mark.parametrize("name", CLOSED)
def test_closed(name: str) -> None:
    assert _is_closed(CLOSED[name]())


@pytest.mark.parametrize("name", OPEN)
def test_open(name: str) -> None:
    assert not _is_closed(OPEN[name]())


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
