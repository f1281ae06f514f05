"""pydantic: models, dataclasses and type adapters that were made before ``patch()``."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import orjson
import pydantic
import pytest

import lazyentity
from lazyentity import LazyEntity
from tests.adapters.uses import RAW
from tests.support.snapshots import outcome
from tests.support.stock import in_order_of, stock_entity

pytestmark = [pytest.mark.usefixtures("adapted"), pytest.mark.filterwarnings("ignore")]


class Inner(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(from_attributes=True)

    deep: str


class Public(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(from_attributes=True, validate_assignment=True)

    text: str
    inner: Inner | dict[str, Any]
    inners: list[Inner]

    @pydantic.computed_field
    def first(self) -> Any:
        """Hand out a part of the model."""
        return self.inners[0]


class Loose(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)

    held: Any = None
    union: int | dict[str, Any] | list[Any] = 0


@pydantic.dataclasses.dataclass
class Record:
    held: Any
    typed: dict[str, Any]


@dataclasses.dataclass
class Plain:
    held: Any


class Row(pydantic.BaseModel):
    value: Annotated[Any, pydantic.BeforeValidator(lambda value: value)]


@pydantic.validate_call(validate_return=True)
def called(entity: dict[str, Any], *others: Any, **named: Any) -> dict[str, Any]:
    """Return all that was given."""
    return {**entity, "others": list(others), "named": named}


# These are made while no adapter is there: see conftest.
ANYTHING, MANY = pydantic.TypeAdapter(Any), pydantic.TypeAdapter(list[Public])


def _model_of(entity: Any, kind: Any, **values: Any) -> Any:
    model = kind(**values) if values else kind.model_validate(entity)
    return model.model_dump(), model.model_dump_json(), model.model_dump(mode="json")


USES: dict[str, Any] = {
    "model_validate": lambda e: _model_of(e, Public),
    "from attributes": lambda e: Public.model_validate(e, from_attributes=True).model_dump(),
    "keywords": lambda e: _model_of(e, Public, **e),
    "Any": lambda e: _model_of(e, Loose, held=e),
    "Any in a list": lambda e: _model_of(e, Loose, held=[{"e": (e,)}]),
    "union": lambda e: _model_of(e, Loose, union=e),
    "extra": lambda e: _model_of(e, Loose, other=e),
    "validator": lambda e: _model_of(e, Row, value=e),
    "strings": lambda e: Inner.model_validate_strings(e["inner"]).model_dump(),
    "assignment": lambda e: _assigned(e).model_dump_json(),
    "construct": lambda e: Loose.model_construct(held=e).model_dump_json(),
    "copy with update": lambda e: Loose().model_copy(update={"held": e}).model_dump(),
    "dataclass": lambda e: pydantic.TypeAdapter(Record).dump_python(Record(e, typed=e)),
    "plain dataclass": lambda e: pydantic.TypeAdapter(Plain).dump_json(Plain(e)),
    "validate_call": lambda e: called(e, e, [e], named=e),
    "TypeAdapter": lambda e: MANY.dump_json(MANY.validate_python([e, e])),
    "TypeAdapter of Any": lambda e: ANYTHING.dump_json(ANYTHING.validate_python({"x": [e]})),
    "TypedDict": lambda e: pydantic.TypeAdapter(dict[str, int]).validate_python(e),
    "refused": lambda e: MANY.validate_python([e, 5]),
    "errors": lambda e: _errors(e),
    "serialize as Any": lambda e: Loose(held=e).model_dump(serialize_as_any=True),
}


def _assigned(entity: Any) -> Any:
    model = Public.model_validate(entity)
    model.inner = entity["inner"]
    return model


def _errors(entity: Any) -> Any:
    try:
        pydantic.TypeAdapter(dict[str, Inner]).validate_python({"a": entity})
    except pydantic.ValidationError as error:
        return error.json(include_url=False), str(error)


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
@pytest.mark.parametrize("reads", [False, True], ids=["unread", "one read"])
def test_as_with_a_stock_entity(lazy_type: type[LazyEntity], use: Any, reads: bool) -> None:
    lazy = lazy_type.from_bytes(RAW)
    stock = in_order_of(lazy_type.from_bytes(RAW), stock_entity(RAW))
    if reads:
        lazy["inners"]
    found, expected = outcome(use, lazy), outcome(use, stock)
    assert repr(found).replace("LazyEntity", "Entity") == repr(expected)


def test_a_model_made_of_a_decoded_one_leaves_it_alone(lazy_type: type[LazyEntity]) -> None:
    """Entities in other arguments and elsewhere stay unread."""
    elsewhere, given = lazy_type.from_bytes(RAW), lazy_type.from_bytes(RAW)
    Public.model_validate(given)
    assert lazyentity.decoded(elsewhere) == ()
    assert set(lazyentity.decoded(given)) == set(given)


def test_what_a_function_returns_meets_the_sentinel(lazy_type: type[LazyEntity]) -> None:
    """The error says what to do."""

    def default(value: Any) -> Any:
        return lazy_type.from_bytes(RAW) if value is default else str(value)

    with pytest.raises(TypeError) as raised:
        orjson.dumps(default, default=default)
    assert "pass lazyentity.materialize(entity)" in str(raised.value.__cause__)
